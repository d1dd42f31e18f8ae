#include "controllers/garbage_collector.h"

#include <algorithm>
#include <utility>

#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::Action;
using client::Delete;
using client::ObjectChange;
using client::Outcome;
using client::Patch;
using client::Propagation;
using client::View;
using client::WorkQueue;

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";
constexpr std::size_t kRememberedGone = 4096;

bool has_finalizer(const api::Header& header, std::string_view name) {
  return std::find(header.finalizers.begin(), header.finalizers.end(), name) != header.finalizers.end();
}

bool is_deleting_foreground(const api::Header& header) {
  return header.deleting_since && has_finalizer(header, kForeground);
}

bool blocks(const api::Header& dependent, const std::string& owner_uid) {
  return std::any_of(dependent.owners.begin(), dependent.owners.end(),
                     [&](const auto& owner) { return owner.uid == owner_uid && owner.block_owner_deletion; });
}

bool has_owned(const View& view, const std::string& uid) {
  bool found = false;
  view.for_each(
      [&](const client::Resource&, const client::ObjectCache& objects) { found = found || objects.has_owned_by(uid); });
  return found;
}

// Calls `visit(resource, version)` for every object that names `uid` as an owner.
template <class Visit>
void for_each_dependent(const View& view, const std::string& uid, const Visit& visit) {
  view.for_each([&](const client::Resource& resource, const client::ObjectCache& objects) {
    for (const api::Version& dependent : objects.owned_by(uid)) visit(resource, dependent);
  });
}

Action without_finalizer(const client::Resource& resource, const api::Version& object, std::string_view name) {
  json::Array rest;
  for (const std::string& finalizer : object.header->finalizers)
    if (finalizer != name) rest.emplace_back(finalizer);
  json::Value patch = json::Object();
  json::object_at(patch, {"metadata"})["finalizers"] = std::move(rest);
  return Patch{client::target_of(resource, object), std::move(patch)};
}

// A patch that replaces the references by what `keep` makes of each: true keeps it. It may change what it is given.
template <class Keep>
Action with_owners(const client::Resource& resource, const api::Version& object, const Keep& keep) {
  json::Array kept;
  // The references are taken from the JSON, not the header, so that they keep the fields they had.
  if (const auto tree = json::parse(*object.json)) {
    const json::Value* list = json::find(*tree, {"metadata", "ownerReferences"});
    if (list != nullptr && list->is_array()) {
      for (json::Value reference : list->get_array())
        if (keep(reference)) kept.push_back(std::move(reference));
    }
  }
  json::Value patch = json::Object();
  json::object_at(patch, {"metadata"})["ownerReferences"] = std::move(kept);
  return Patch{client::target_of(resource, object), std::move(patch)};
}

// Whether the view has every dependent that was there when the deletion of `owner` began. If not, it is looked at
// again: the watch of one kind may be behind that of another.
bool shows_all_dependents(const api::Header& owner, const View& view, Outcome& outcome) {
  if (view.has_reached(owner.revision)) return true;
  const Duration lasted = view.now() - *owner.deleting_since;
  outcome.look_again(view.now() +
                     std::clamp<Duration>(lasted / 8, std::chrono::milliseconds(20), std::chrono::seconds(5)));
  return false;
}

std::string probe_name(const api::OwnerReference& owner) {
  return owner.uid + "/" + owner.name;
}

}  // namespace

struct GarbageCollector::Owners {
  bool any_solid = false;
  bool any_unknown = false;  // asked, not answered yet
  bool any_waiting = false;
  std::set<std::string> loose;  // uids of waiting and gone owners
};

Outcome GarbageCollector::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const auto info = catalog_.find_resource(key.resource);
  if (!info) return outcome;
  const api::Version object = view.get(info->resource, key.object);
  if (!object) return outcome;
  const api::Header& header = *object.header;
  if (header.deleting_since) {
    if (has_finalizer(header, kOrphan)) {
      orphan_dependents(*info, object, view, outcome);
    } else if (has_finalizer(header, kForeground)) {
      finish_foreground(*info, object, view, outcome);
    }
  } else if (!header.owners.empty()) {
    collect(*info, object, view, outcome);
  }
  return outcome;
}

GarbageCollector::OwnerState GarbageCollector::state_of(const api::OwnerReference& owner, const ResourceInfo& of,
                                                        const api::Header& dependent, const View& view,
                                                        std::vector<client::Probe>& probes) const {
  const auto info = catalog_.find_kind(client::group_of(owner.api_version), owner.kind);
  if (!info) return OwnerState::kSolid;
  if (info->namespaced && !of.namespaced) return OwnerState::kSolid;
  const api::ObjectName name{info->namespaced ? dependent.name.ns : std::string(), owner.name};
  const api::Version found = view.get(info->resource, name);
  if (found && found.header->uid == owner.uid)
    return is_deleting_foreground(*found.header) ? OwnerState::kWaiting : OwnerState::kSolid;

  const std::string probe = probe_name(owner);
  probes.push_back(client::Probe{probe, json::Object{{"group", info->resource.group},
                                                     {"version", info->resource.version},
                                                     {"plural", info->resource.plural},
                                                     {"namespace", name.ns},
                                                     {"name", name.name},
                                                     {"uid", owner.uid}}});
  const auto* answer = view.answer(probe);
  if (answer != nullptr && answer->has_value()) {
    // One that exists after all will be in the mirror soon, and its arrival leads to another look.
    return (*answer)->is_string() && (*answer)->get_string() == owner.uid ? OwnerState::kSolid : OwnerState::kGone;
  }
  return OwnerState::kUnknown;
}

void GarbageCollector::collect(const ResourceInfo& info, const api::Version& object, const View& view,
                               Outcome& outcome) const {
  const api::Header& header = *object.header;
  Owners owners;
  std::vector<client::Probe> probes;
  for (const api::OwnerReference& owner : header.owners) {
    switch (state_of(owner, info, header, view, probes)) {
      case OwnerState::kSolid:
        owners.any_solid = true;
        break;
      case OwnerState::kUnknown:
        owners.any_unknown = true;
        break;
      case OwnerState::kWaiting:
        owners.any_waiting = true;
        [[fallthrough]];
      case OwnerState::kGone:
        owners.loose.insert(owner.uid);
        break;
    }
  }
  if (owners.any_unknown) {
    // All are asked after together: answers last for one look, so those that came in different rounds never meet.
    for (client::Probe& probe : probes) outcome.allowed_now.push_back(std::move(probe));
    return;
  }
  if (owners.any_solid) {
    if (owners.loose.empty()) return;
    outcome.allowed_now.push_back(with_owners(info.resource, object, [&](const json::Value& reference) {
      return !owners.loose.contains(std::string(json::string_at(reference, {"uid"})));
    }));
    return;
  }

  if (owners.any_waiting && has_owned(view, header.uid)) {
    // In a circle of owners each would wait for the next: whoever waits on its own dependent no longer blocks.
    bool circle = false;
    for_each_dependent(view, header.uid, [&](const client::Resource&, const api::Version& dependent) {
      circle = circle || is_deleting_foreground(*dependent.header);
    });
    const bool still_blocks = std::any_of(header.owners.begin(), header.owners.end(),
                                          [](const auto& owner) { return owner.block_owner_deletion; });
    if (circle && still_blocks) {
      outcome.allowed_now.push_back(with_owners(info.resource, object, [](json::Value& reference) {
        if (reference.is_object()) reference.get_object()["blockOwnerDeletion"] = false;
        return true;
      }));
      return;
    }
    outcome.allowed_now.push_back(Delete{client::target_of(info.resource, object), Propagation::kForeground});
    return;
  }
  const Propagation policy = has_finalizer(header, kOrphan)       ? Propagation::kOrphan
                             : has_finalizer(header, kForeground) ? Propagation::kForeground
                                                                  : Propagation::kBackground;
  outcome.allowed_now.push_back(Delete{client::target_of(info.resource, object), policy});
}

void GarbageCollector::finish_foreground(const ResourceInfo& info, const api::Version& object, const View& view,
                                         Outcome& outcome) const {
  bool is_blocked = false;
  for_each_dependent(view, object.header->uid, [&](const client::Resource&, const api::Version& dependent) {
    is_blocked = is_blocked || blocks(*dependent.header, object.header->uid);
  });
  if (!is_blocked && shows_all_dependents(*object.header, view, outcome))
    outcome.allowed_now.push_back(without_finalizer(info.resource, object, kForeground));
}

void GarbageCollector::orphan_dependents(const ResourceInfo& info, const api::Version& object, const View& view,
                                         Outcome& outcome) const {
  const std::string& uid = object.header->uid;
  for_each_dependent(view, uid, [&](const client::Resource& resource, const api::Version& dependent) {
    outcome.allowed_now.push_back(with_owners(
        resource, dependent, [&](const json::Value& reference) { return json::string_at(reference, {"uid"}) != uid; }));
  });
  if (outcome.allowed_now.empty() && shows_all_dependents(*object.header, view, outcome))
    outcome.allowed_now.push_back(without_finalizer(info.resource, object, kOrphan));
}

client::WatchRule GarbageCollector::watch_rule(const ResourceInfo& info) const {
  client::WatchRule rule;
  rule.resource = info.resource;
  rule.required = false;
  rule.keys = [this, info](const ObjectChange& change, const View& view, const client::KeySink& sink) {
    tell_keys(info, change, view, sink);
  };
  return rule;
}

void GarbageCollector::tell_keys(const ResourceInfo& info, const ObjectChange& change, const View& view,
                                 const client::KeySink& sink) const {
  const auto normal = WorkQueue::Priority::kNormal;
  const api::Header& now = *change.now.header;
  if (!now.owners.empty() || is_deleting_foreground(now) || (now.deleting_since && has_finalizer(now, kOrphan)))
    sink(client::key_of(info.resource, now.name), normal);

  const bool ended = change.type == ObjectChange::Type::kDeleted;
  const bool began_waiting =
      is_deleting_foreground(now) && (!change.before || !is_deleting_foreground(*change.before.header));
  // An owner that arrives is told to the dependents that came first.
  if (ended || began_waiting || change.type == ObjectChange::Type::kAdded) {
    for_each_dependent(view, now.uid, [&](const client::Resource& resource, const api::Version& dependent) {
      sink(client::key_of(resource, dependent.header->name), normal);
    });
  }

  // A dependent that goes, or lets go of an owner, may be what the owner waits for.
  if (!change.before) return;
  for (const api::OwnerReference& owner : change.before.header->owners) {
    const auto owner_info = catalog_.find_kind(client::group_of(owner.api_version), owner.kind);
    if (!owner_info) continue;
    const api::ObjectName name{owner_info->namespaced ? now.name.ns : std::string(), owner.name};
    const api::Version found = view.get(owner_info->resource, name);
    if (found && found.header->uid == owner.uid && found.header->deleting_since)
      sink(client::key_of(owner_info->resource, name), normal);
  }
}

void OwnerProbe::ask(const client::Probe& probe, sys::Completion<json::Value> done) {
  const json::Value& question = probe.question;
  const std::string uid(json::string_at(question, {"uid"}));
  if (gone_.contains(uid)) {
    loop_.post([done = std::move(done)] { done(json::Value(nullptr)); });
    return;
  }
  client::ApiRequest request;
  request.resource = {std::string(json::string_at(question, {"group"})),
                      std::string(json::string_at(question, {"version"})),
                      std::string(json::string_at(question, {"plural"}))};
  request.object = {std::string(json::string_at(question, {"namespace"})),
                    std::string(json::string_at(question, {"name"}))};
  client_.call(std::move(request), [this, uid, done = std::move(done), life = std::weak_ptr(life_)](auto answer) {
    if (life.expired()) return;
    if (!answer && answer.error().reason != Reason::kNotFound) return done(Error(answer.error()));
    if (answer && answer->header->uid == uid) return done(json::Value(uid));
    remember_gone(uid);
    done(json::Value(nullptr));
  });
}

void OwnerProbe::remember_gone(const std::string& uid) {
  if (!gone_.insert(uid).second) return;
  gone_order_.push_back(uid);
  if (gone_order_.size() <= kRememberedGone) return;
  gone_.erase(gone_order_.front());
  gone_order_.pop_front();
}

GarbageFeed::GarbageFeed(const GarbageCollector& collector, ResourceCatalog& catalog, client::Controller& controller,
                         client::Mirror& mirror)
    : collector_(collector), catalog_(catalog), controller_(controller), mirror_(mirror) {
  subscription_ = catalog_.subscribe([this] { follow(); });
  follow();
}

void GarbageFeed::follow() {
  const auto resources = catalog_.resources();
  // While they cannot be told, what is watched stays as it is; the catalog tells when that is over.
  if (!resources) return;
  std::set<client::Resource> wanted;
  bool any_new = false;
  for (const ResourceInfo& info : *resources) {
    if (!info.deletable || info.resource.plural == "events") continue;
    wanted.insert(info.resource);
    if (!watched_.insert(info.resource).second) continue;
    controller_.add_watch(collector_.watch_rule(info));
    any_new = true;
  }
  for (auto at = watched_.begin(); at != watched_.end();) {
    if (wanted.contains(*at)) {
      ++at;
      continue;
    }
    controller_.remove_watch(*at);
    mirror_.drop(*at);
    at = watched_.erase(at);
  }
  // An owner's kind may have become known.
  if (any_new) controller_.resync();
}

}  // namespace gangway::controllers
