#include "sim/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/value.h"

namespace gangway::sim {
namespace {

constexpr const char* kTypes[] = {"added", "modified", "deleted"};

// The node without what every heartbeat changes.
json::Value without_heartbeats(const std::string& text) {
  auto node = json::parse(text);
  if (!node) return nullptr;
  auto& metadata = json::object_at(*node, {"metadata"});
  metadata.erase("resourceVersion");
  metadata.erase("managedFields");
  if (auto* conditions = json::find(*node, {"status", "conditions"}); conditions != nullptr && conditions->is_array()) {
    for (auto& condition : conditions->get_array())
      if (condition.is_object()) condition.get_object().erase("lastHeartbeatTime");
  }
  return *node;
}

std::size_t preemptions_in(const api::Version& allotment) {
  const auto tree = json::parse(*allotment.json);
  return tree ? json::array_at(*tree, {"status", "preemptedBy"}).size() : 0;
}

bool records_preemption(const api::ResourceName& resource, const store::Change& change) {
  return resource == "allotments.gangway.dev" && change.type == store::ChangeType::kModified &&
         preemptions_in(change.now) > preemptions_in(change.before);
}

}  // namespace

bool is_heartbeat(const api::ResourceName& resource, const store::Change& change) {
  if (change.type != store::ChangeType::kModified) return false;
  if (resource == "leases.coordination.k8s.io") return true;
  return resource == "nodes" && without_heartbeats(*change.before.json) == without_heartbeats(*change.now.json);
}

Audit::Audit(testing::Simulation& simulation, std::vector<std::unique_ptr<Law>> laws)
    : simulation_(simulation), laws_(std::move(laws)) {}

void Audit::begin(const store::Store& store) {
  store_ = &store;
  const auto root = store.root();
  if (before_ != nullptr) {
    for (const auto& law : laws_) law->on_restart(*before_, *head_, *root, verdicts_);
  }
  cursors_.clear();
  seen_ = root->revision();
  follow_new_resources(*root);
}

void Audit::follow_new_resources(const store::Root& root) {
  for (const auto& resource : root.resources()) {
    auto& cursor = cursors_[resource];
    if (cursor != nullptr) continue;
    auto opened = store_->watch(resource, seen_);
    if (opened) {
      cursor = std::move(*opened);
    } else {
      verdicts_.broken(resource + " cannot be followed: " + opened.error().message);
    }
  }
}

void Audit::observe() {
  if (store_ == nullptr) return;
  const auto root = store_->root();
  if (root->revision() == seen_) return;
  follow_new_resources(*root);
  // In the order in which it happened, not kind by kind.
  std::vector<std::pair<const api::ResourceName*, store::Change>> changes;
  for (const auto& [resource, cursor] : cursors_) {
    for (;;) {
      auto change = cursor->next();
      if (!change) {
        verdicts_.broken(resource + " cannot be followed: " + change.error().message);
        break;
      }
      if (*change == nullptr) break;
      changes.emplace_back(&resource, **change);
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.second.revision() < b.second.revision(); });
  for (const auto& [resource, change] : changes) tell(*resource, change, *root);
  seen_ = root->revision();
}

void Audit::tell(const api::ResourceName& resource, const store::Change& change, const store::Root& root) {
  const auto& name = change.now.header->name;
  const auto text = fmt::format("{} {}/{} {} at {}", resource, name.ns, name.name,
                                kTypes[static_cast<std::size_t>(change.type)], change.revision());
  simulation_.note("store", text);
  ++writes_;
  const bool old_event = resource.starts_with("events") && change.type == store::ChangeType::kDeleted;
  if (!old_event && !is_heartbeat(resource, change)) {
    last_busy_ = simulation_.now();
    last_write_ = text;
  }
  if (records_preemption(resource, change)) last_preemption_ = simulation_.now();
  for (const auto& law : laws_) law->on_change(resource, change, root, verdicts_);
}

void Audit::killed() {
  if (store_ == nullptr) return;
  observe();
  before_ = store_->root();
  head_ = store_->head();
  cursors_.clear();
  store_ = nullptr;
}

void Audit::at_rest() {
  if (store_ == nullptr) return;
  const auto root = store_->root();
  for (const auto& law : laws_) law->at_rest(*root, verdicts_);
}

}  // namespace gangway::sim
