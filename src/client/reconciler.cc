#include "client/reconciler.h"

#include <algorithm>
#include <utility>

#include "client/resource.h"

namespace gangway::client {

void Outcome::look_again(WallTime when) {
  look_again_at = std::min(look_again_at.value_or(when), when);
}

api::ObjectKey key_of(const Resource& resource, const api::ObjectName& name) {
  return {resource_name(resource), name};
}

KeyMapper itself(const Resource& resource, WorkQueue::Priority priority) {
  return [name = resource_name(resource), priority](const ObjectChange& change, const View&, const KeySink& sink) {
    sink({name, change.now.header->name}, priority);
  };
}

KeyMapper its_controller(const Resource& owner_resource, std::string kind) {
  return [name = resource_name(owner_resource), group = owner_resource.group, kind = std::move(kind)](
             const ObjectChange& change, const View&, const KeySink& sink) {
    for (const api::Version* version : {&change.before, &change.now}) {
      if (!*version) continue;
      for (const api::OwnerReference& owner : version->header->owners) {
        if (owner.controller && owner.kind == kind && group_of(owner.api_version) == group)
          sink({name, {version->header->name.ns, owner.name}}, WorkQueue::Priority::kNormal);
      }
    }
  };
}

KeyMapper its_namespace(const Resource& resource) {
  return [name = resource_name(resource)](const ObjectChange& change, const View&, const KeySink& sink) {
    sink({name, {"", change.now.header->name.ns}}, WorkQueue::Priority::kNormal);
  };
}

}  // namespace gangway::client
