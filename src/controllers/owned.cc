#include "controllers/owned.h"

#include <utility>

#include "api/owner.h"
#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::Patch;
using client::Probe;
using client::View;

constexpr const char* kProbe = "owner";

struct SelectorFacts {
  api::LabelSelector selector = api::LabelSelector::nothing();
};

SelectorFacts read_selector(const api::Version& object) {
  SelectorFacts facts;
  const auto tree = json::parse(*object.json);
  const json::Value* selector = tree ? json::find(*tree, {"spec", "selector"}) : nullptr;
  if (selector == nullptr) return facts;
  auto read = api::read_label_selector(*selector);
  if (read && !read->selects_everything()) facts.selector = std::move(*read);
  return facts;
}

void adopt(const client::Resource& resource, const api::Version& object, const Owner& owner, Claims& claims) {
  auto tree = json::parse(*object.json);
  if (!tree) return;
  api::set_owner(*tree, owner.reference());
  claims.actions.push_back(write_owners(resource, object, *tree));
}

void release(const client::Resource& resource, const api::Version& object, const Owner& owner, Claims& claims) {
  auto tree = json::parse(*object.json);
  if (!tree || !api::remove_owners(*tree, {owner.object.header->uid})) return;
  claims.actions.push_back(write_owners(resource, object, *tree));
}

Probe question(const Owner& owner) {
  return {kProbe, json::Object{{"group", owner.resource.group},
                               {"version", owner.resource.version},
                               {"plural", owner.resource.plural},
                               {"namespace", owner.object.header->name.ns},
                               {"name", owner.object.header->name.name}}};
}

void adopt_all(const View& view, const client::Resource& resource, const Owner& owner,
               const std::vector<api::Version>& candidates, Claims& claims) {
  if (candidates.empty()) return;
  const Result<json::Value>* answer = view.answer(kProbe);
  if (answer == nullptr || !*answer) {
    claims.actions.push_back(question(owner));
    return;
  }
  // The answer is the uid of the owner that may adopt, or null.
  if (!(*answer)->is_string() || (*answer)->get_string() != owner.object.header->uid) return;
  for (const api::Version& candidate : candidates) adopt(resource, candidate, owner, claims);
}

}  // namespace

api::OwnerReference Owner::reference() const {
  return api::controller_reference(client::api_version(resource), kind, *object.header);
}

// The list as a whole, so that the patch needs no kind's merge rules; the revision says that it is still that list.
client::Patch write_owners(const client::Resource& resource, const api::Version& object, const json::Value& edited) {
  const json::Value* owners = json::find(edited, {"metadata", "ownerReferences"});
  json::Value patch = json::Object();
  json::object_at(patch, {"metadata"})["ownerReferences"] = owners == nullptr ? json::Value(nullptr) : *owners;
  return {client::target_of(resource, object), std::move(patch)};
}

Claims claim(const View& view, const client::Resource& resource, const Owner& owner, const api::LabelSelector& selector,
             const Adoptable& adoptable) {
  Claims claims;
  const api::Header& self = *owner.object.header;
  view.objects(resource).for_each_owned_by(self.uid, [&](const api::Version& object) {
    if (!api::is_controlled_by(*object.header, self.uid)) return;
    if (selector.matches(*object.header)) {
      claims.held.push_back(object);
    } else if (!self.deleting_since) {
      release(resource, object, owner, claims);
    }
  });
  if (self.deleting_since) return claims;
  std::vector<api::Version> candidates;
  for (api::Version& object : view.objects(resource).without_controller(self.name.ns)) {
    if (object.header->deleting_since || !selector.matches(*object.header)) continue;
    if (!adoptable || adoptable(object)) candidates.push_back(std::move(object));
  }
  adopt_all(view, resource, owner, candidates, claims);
  return claims;
}

std::shared_ptr<const api::LabelSelector> selector_of(const View& view, const client::Resource& resource,
                                                      const api::Version& object) {
  const auto facts = view.objects(resource).facts<SelectorFacts>(object, read_selector);
  return {facts, &facts->selector};
}

client::KeyMapper its_owners(const client::Resource& owner_resource, std::string kind) {
  return [owner_resource, by_reference = client::its_controller(owner_resource, std::move(kind))](
             const client::ObjectChange& change, const View& view, const client::KeySink& sink) {
    by_reference(change, view, sink);
    if (change.type == client::ObjectChange::Type::kDeleted || api::controller_of(*change.now.header) != nullptr)
      return;
    for (const api::Version& owner : view.objects(owner_resource).in_namespace(change.now.header->name.ns)) {
      if (selector_of(view, owner_resource, owner)->matches(*change.now.header))
        sink(client::key_of(owner_resource, owner.header->name), client::WorkQueue::Priority::kNormal);
    }
  };
}

void LiveOwner::ask(const Probe& probe, sys::Completion<json::Value> done) {
  const json::Value& asked = probe.question;
  const auto text = [&](const char* key) { return std::string(json::string_at(asked, {key})); };
  client::ApiRequest request;
  request.resource = {text("group"), text("version"), text("plural")};
  request.object = {text("namespace"), text("name")};
  client_.call(std::move(request), [done = std::move(done)](const Result<api::Version>& answer) {
    if (!answer && answer.error().reason != Reason::kNotFound) return done(Error(answer.error()));
    if (!answer || answer->header->deleting_since) return done(json::Value(nullptr));
    done(json::Value(answer->header->uid));
  });
}

}  // namespace gangway::controllers
