#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "json/value.h"
#include "sim/laws.h"
#include "sim/reading.h"

namespace gangway::sim {
namespace {

class NodesHaveRoom final : public Law {
 public:
  void on_change(const api::ResourceName& resource, const store::Change& change, const store::Root& root,
                 Verdicts& verdicts) override {
    if (resource != "pods") return;
    const auto& header = *change.now.header;
    if (change.before) {
      if (auto old = placed_.extract(change.before.header->uid); !old.empty()) free(old.mapped());
    }
    if (change.type == store::ChangeType::kDeleted) return;
    const auto pod = tree_of(change.now);
    const std::string node(json::string_at(pod, {"spec", "nodeName"}));
    if (node.empty() || has_ended(phase_of(pod))) return;
    const Placed placed{node, requests_of(pod)};
    placed_[header.uid] = placed;
    for (const auto& [name, amount] : placed.requests) used_[node][name] += amount;
    judge(node, header, root, verdicts);
  }

 private:
  struct Placed {
    std::string node;
    Amounts requests;
  };

  void free(const Placed& placed) {
    for (const auto& [name, amount] : placed.requests) used_[placed.node][name] -= amount;
  }

  void judge(const std::string& node, const api::Header& pod, const store::Root& root, Verdicts& verdicts) {
    const auto version = root.get({"nodes", {"", node}});
    if (!version) return;
    Amounts room;
    const auto tree = tree_of(version);
    add(room, json::find(tree, {"status", "allocatable"}));
    for (const auto& [name, amount] : used_[node]) {
      if (amount > room[name]) {
        verdicts.broken(
            fmt::format("{} has {} of {}, and {} makes it {}", node, room[name], name, named(pod.name), amount));
      }
    }
  }

  std::map<std::string, Placed> placed_;  // by uid
  std::map<std::string, Amounts> used_;   // by node
};

class PodsOnlyGoForward final : public Law {
 public:
  void on_change(const api::ResourceName& resource, const store::Change& change, const store::Root&,
                 Verdicts& verdicts) override {
    if (resource != "pods" || change.type != store::ChangeType::kModified) return;
    const auto before = tree_of(change.before);
    const auto now = tree_of(change.now);
    const auto& header = *change.now.header;
    const auto node = json::string_at(before, {"spec", "nodeName"});
    if (!node.empty() && json::string_at(now, {"spec", "nodeName"}) != node)
      verdicts.broken(fmt::format("{} was moved from {}", named(header.name), node));
    if (has_ended(phase_of(before)) && phase_of(now) != phase_of(before))
      verdicts.broken(fmt::format("{} went from {} to {}", named(header.name), phase_of(before), phase_of(now)));
    if (phase_of(before) == "Running" && phase_of(now) == "Pending")
      verdicts.broken(fmt::format("{} went from Running to Pending", named(header.name)));
    for (const auto& [container, restarts] : restarts_of(before)) {
      const auto later = restarts_of(now);
      const auto at = later.find(container);
      if (at != later.end() && at->second < restarts)
        verdicts.broken(
            fmt::format("{} forgot restarts of {}: {}, then {}", named(header.name), container, restarts, at->second));
    }
  }

 private:
  static std::map<std::string, std::int64_t> restarts_of(const json::Value& pod) {
    std::map<std::string, std::int64_t> all;
    const auto* statuses = json::find(pod, {"status", "containerStatuses"});
    if (statuses == nullptr || !statuses->is_array()) return all;
    for (const auto& status : statuses->get_array()) {
      const auto* count = json::find(status, {"restartCount"});
      if (count != nullptr && count->is_int64())
        all[std::string(json::string_at(status, {"name"}))] = count->get_int64();
    }
    return all;
  }
};

class WhatWaitsKnowsWhy final : public Law {
 public:
  void at_rest(const store::Root& root, Verdicts& verdicts) override {
    for (const auto& version : root.objects("pods")) {
      const auto pod = tree_of(version);
      if (phase_of(pod) != "Pending") continue;
      if (!has_reason(pod)) verdicts.broken(named(version.header->name) + " is Pending and nobody says why");
    }
  }

 private:
  static bool has_reason(const json::Value& pod) {
    if (const auto* scheduled = condition_of(pod, "PodScheduled"); scheduled != nullptr &&
                                                                   json::string_at(*scheduled, {"status"}) == "False" &&
                                                                   !json::string_at(*scheduled, {"message"}).empty())
      return true;
    if (const auto* statuses = json::find(pod, {"status", "containerStatuses"}); statuses && statuses->is_array()) {
      for (const auto& status : statuses->get_array())
        if (!json::string_at(status, {"state", "waiting", "reason"}).empty()) return true;
    }
    return false;
  }
};

}  // namespace

std::unique_ptr<Law> nodes_have_room() {
  return std::make_unique<NodesHaveRoom>();
}
std::unique_ptr<Law> pods_only_go_forward() {
  return std::make_unique<PodsOnlyGoForward>();
}
std::unique_ptr<Law> what_waits_knows_why() {
  return std::make_unique<WhatWaitsKnowsWhy>();
}

}  // namespace gangway::sim
