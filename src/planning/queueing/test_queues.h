// Builders of snapshots for tests, and plans as text. Both are short enough for tables:
//
//   queues.cohort("r").cohort("c", "r", "cpu 2").queue("q", "c", "cpu 6 bl 6 ll 4", "wCQ=LP rWC=Any bWC=LP:0");
//   queues.queue("two", "", "spot: cpu 4; reserved: cpu 2 | default: memory 8", "strict borrow=next weight=2");
//   queues.held("q: low(-1,3) mid(0,2x1.5@spot)").waiting("q: in(1,4-8x1)");
//
// A workload is name(priority,size). A size is cpus, or pods x cpus, or least-most x cpus; "3cpu+2memory" names
// resources,
// "@flavor" what it holds (default: "default"). Expectations are written in the same words, sorted by name.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planning/queueing/cycle.h"
#include "planning/queueing/messages.h"
#include "planning/queueing/plan.h"
#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing::testing {

inline constexpr WallTime kNow = WallTime(std::chrono::seconds(1'700'000'000));

inline std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find(by, from), text.size());
    std::string part = text.substr(from, to - from);
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    if (!part.empty()) parts.push_back(std::move(part));
    from = to + 1;
  }
  return parts;
}

class TestQueues {
 public:
  TestQueues() { snapshot_.now = kNow; }

  TestQueues& cohort(const std::string& name, const std::string& parent = "", const std::string& quotas = "",
                     double weight = 1) {
    const CohortId id = cohort_id(name);
    if (!parent.empty()) {
      const CohortId above = cohort_id(parent);  // may move the table
      snapshot_.cohorts[id].parent = above;
    }
    snapshot_.cohorts[id].groups = groups(quotas);
    snapshot_.cohorts[id].weight = static_cast<std::int64_t>(weight * kWeightOne);
    return *this;
  }

  TestQueues& queue(const std::string& name, const std::string& cohort, const std::string& quotas,
                    const std::string& policies = "") {
    ClusterQueue queue{.name = name, .groups = groups(quotas)};
    if (!cohort.empty()) queue.cohort = cohort_id(cohort);
    for (const std::string& policy : split(policies, ' ')) apply(queue, policy);
    queues_[name] = static_cast<QueueId>(snapshot_.queues.size());
    snapshot_.queues.push_back(std::move(queue));
    return *this;
  }

  // They have held their quota for an hour.
  TestQueues& held(const std::string& text) {
    for_each(text, [&](QueueId queue, const std::string& item) {
      Workload& workload = add(queue, item);
      workload.queued = kNow - std::chrono::hours(2);
      Admission admission{.queue = queue, .reserved = kNow - std::chrono::hours(1)};
      const std::string flavor = item.find('@') == std::string::npos
                                     ? "default"
                                     : item.substr(item.find('@') + 1, item.find(')') - item.find('@') - 1);
      for (const PodSet& podset : workload.podsets) {
        PodSetGrant grant{.count = podset.count};
        for (const auto& [resource, amount] : podset.shape->request)
          if (resource != kPods) grant.charges.push_back({flavor_id(flavor), resource, amount * podset.count});
        admission.grant.push_back(std::move(grant));
      }
      workload.admission = std::move(admission);
    });
    return *this;
  }
  // They have waited for a minute.
  TestQueues& waiting(const std::string& text) {
    for_each(text,
             [&](QueueId queue, const std::string& item) { add(queue, item).queued = kNow - std::chrono::minutes(1); });
    return *this;
  }
  // One more podset of a workload: "name(size)".
  TestQueues& podset(const std::string& workload_name, const std::string& podset_name, const std::string& size) {
    workload(workload_name).podsets.push_back(podset_of(podset_name, size));
    return *this;
  }

  Workload& workload(const std::string& name) { return snapshot_.workloads[workloads_.at(name)]; }
  WorkloadId workload_id(const std::string& name) const { return workloads_.at(name); }
  ClusterQueue& queue_of(const std::string& name) { return snapshot_.queues[queues_.at(name)]; }
  QueueId queue_id(const std::string& name) const { return queues_.at(name); }
  Flavor& flavor(const std::string& name) { return snapshot_.flavors[flavor_id(name)]; }
  Snapshot& snapshot() { return snapshot_; }
  Options& options() { return options_; }
  TestQueues& fair() {
    options_.fair_sharing = true;
    return *this;
  }
  template <class Change>
  TestQueues& shape(const std::string& name, Change change) {
    PodShape shape = *workload(name).podsets.front().shape;
    change(shape);
    workload(name).podsets.front().shape = std::make_shared<const PodShape>(std::move(shape));
    return *this;
  }

  FlavorId flavor_id(const std::string& name) {
    for (FlavorId id = 0; id < snapshot_.flavors.size(); ++id)
      if (snapshot_.flavors[id].name == name) return id;
    snapshot_.flavors.push_back({.name = name});
    return static_cast<FlavorId>(snapshot_.flavors.size() - 1);
  }

  Plan plan() const { return queueing::plan(snapshot_, options_); }

  // "low[ICQ] mid[REC]", by name.
  std::string text_of_victims(const Decision& decision) const {
    static constexpr const char* kShort[] = {"ICQ", "REC", "RWB", "FS"};
    std::vector<std::string> names;
    for (const Victim& victim : decision.victims)
      names.push_back(
          fmt::format("{}[{}]", snapshot_.workloads[victim.workload].name, kShort[static_cast<int>(victim.reason)]));
    std::sort(names.begin(), names.end());
    return fmt::format("{}", fmt::join(names, " "));
  }
  // "in: admitted main x2 cpu@spot", "in: preempts low[ICQ]", "in: waits WaitingForQuota aside"
  std::string text_of(const Decision& decision) const {
    const Workload& workload = snapshot_.workloads[decision.workload];
    std::string text = workload.name + ": ";
    switch (decision.outcome) {
      case Decision::Outcome::kAdmit:
        text += "admitted";
        for (std::size_t i = 0; i < decision.grant.size(); ++i) {
          text += fmt::format(" {} x{}", workload.podsets[i].name, decision.grant[i].count);
          for (const Charge& charge : decision.grant[i].charges)
            text += fmt::format(" {}@{}", snapshot_.resources.name_of(charge.resource),
                                snapshot_.flavors[charge.flavor].name);
        }
        break;
      case Decision::Outcome::kPreempt:
        text += "preempts " + text_of_victims(decision);
        break;
      case Decision::Outcome::kWait:
        text += fmt::format("waits {}", reason_text(decision.reason));
        if (decision.remark == Remark::kNoLongerFits) text += ", no longer fits";
        if (decision.remark == Remark::kOverlappingVictims) text += ", overlaps";
        if (decision.remark == Remark::kFitsAfterOthers) text += ", fits after others";
        text += decision.requeue == Decision::Requeue::kInadmissible ? ", aside" : ", in line";
        break;
    }
    return text;
  }
  std::vector<std::string> decisions(const Plan& plan) const {
    std::vector<std::string> lines;
    for (const Decision& decision : plan.decisions) lines.push_back(text_of(decision));
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  std::vector<std::string> decisions() const { return decisions(plan()); }
  // Names, in the order in which they were served.
  std::vector<std::string> order() const {
    std::vector<std::string> names;
    for (const Decision& decision : plan().decisions) names.push_back(snapshot_.workloads[decision.workload].name);
    return names;
  }
  const Decision* find(const Plan& plan, const std::string& name) const {
    for (const Decision& decision : plan.decisions)
      if (decision.workload == workloads_.at(name)) return &decision;
    return nullptr;
  }
  std::string message(const std::string& name) const {
    const Plan made = plan();
    const Decision* const decision = find(made, name);
    return decision ? message_of(snapshot_, *decision) : "no decision";
  }
  // Whom the only head of all takes, or "none".
  std::string victims() const {
    const Plan made = plan();
    if (made.decisions.size() != 1) return fmt::format("{} decisions", made.decisions.size());
    if (made.decisions.front().outcome == Decision::Outcome::kAdmit) return "admitted";
    const std::string text = text_of_victims(made.decisions.front());
    return text.empty() ? "none" : text;
  }

 private:
  std::int64_t amount_of(const std::string& text, ResourceId resource) const {
    const double number = std::strtod(text.c_str(), nullptr);
    return static_cast<std::int64_t>(resource == kCpu ? number * 1000 : number);
  }
  CohortId cohort_id(const std::string& name) {
    for (CohortId id = 0; id < snapshot_.cohorts.size(); ++id)
      if (snapshot_.cohorts[id].name == name) return id;
    snapshot_.cohorts.push_back({.name = name});
    return static_cast<CohortId>(snapshot_.cohorts.size() - 1);
  }
  std::vector<ResourceGroup> groups(const std::string& text) {
    std::vector<ResourceGroup> groups;
    for (const std::string& one : split(text, '|')) {
      ResourceGroup group;
      for (const std::string& flavor : split(one, ';')) {
        const std::size_t colon = flavor.find(':');
        FlavorQuotas quotas{.flavor = flavor_id(colon == std::string::npos ? "default" : flavor.substr(0, colon))};
        group.covered.clear();
        for (const std::string& resource : split(colon == std::string::npos ? flavor : flavor.substr(colon + 1), ',')) {
          const std::vector<std::string> words = split(resource, ' ');
          const ResourceId id = snapshot_.resources.id_of(words[0]);
          Quota quota{.nominal = amount_of(words[1], id)};
          for (std::size_t i = 2; i + 1 < words.size(); i += 2)
            (words[i] == "bl" ? quota.borrowing_limit : quota.lending_limit) = amount_of(words[i + 1], id);
          group.covered.push_back(id);
          quotas.quotas.push_back(quota);
        }
        group.flavors.push_back(std::move(quotas));
      }
      groups.push_back(std::move(group));
    }
    return groups;
  }
  static PreemptionPolicy policy_of(const std::string& text) {
    if (text == "LP") return PreemptionPolicy::kLowerPriority;
    if (text == "LNEP") return PreemptionPolicy::kLowerOrNewerEqualPriority;
    return text == "Any" ? PreemptionPolicy::kAny : PreemptionPolicy::kNever;
  }
  static void apply(ClusterQueue& queue, const std::string& policy) {
    const std::size_t equals = std::min(policy.find('='), policy.size());
    const std::string key = policy.substr(0, equals);
    const std::string value = equals < policy.size() ? policy.substr(equals + 1) : "";
    if (key == "wCQ") queue.preemption.within_queue = policy_of(value);
    if (key == "rWC") queue.preemption.reclaim = policy_of(value);
    if (key == "bWC") {
      queue.preemption.while_borrowing.is_allowed = value.starts_with("LP");
      if (value.size() > 3) queue.preemption.while_borrowing.max_priority_threshold = std::atol(value.c_str() + 3);
    }
    if (key == "strict") queue.strategy = QueueingStrategy::kStrictFifo;
    if (key == "borrow") queue.fungibility.stops_when_borrowing = value == "stop";
    if (key == "preempt") queue.fungibility.stops_when_preempting = value == "stop";
    if (key == "prefer" && value == "preemption")
      queue.fungibility.preference = Fungibility::Preference::kPreemptionOverBorrowing;
    if (key == "weight") queue.weight = static_cast<std::int64_t>(std::strtod(value.c_str(), nullptr) * kWeightOne);
    if (key == "afs") queue.orders_by_local_usage = true;
    if (key == "inactive") queue.is_active = false;
  }
  template <class Visit>
  void for_each(const std::string& text, Visit visit) {
    for (const std::string& part : split(text, ';')) {
      const std::size_t colon = part.find(':');
      for (const std::string& item : split(part.substr(colon + 1), ' ')) visit(queues_.at(part.substr(0, colon)), item);
    }
  }
  // "2", "3x2", "1-3x2", "2cpu+1memory", each with or without "@flavor"
  PodSet podset_of(const std::string& name, std::string size) {
    PodSet podset{.name = name};
    size = size.substr(0, size.find('@'));
    if (const std::size_t x = size.find('x'); x != std::string::npos) {
      const std::vector<std::string> counts = split(size.substr(0, x), '-');
      podset.count = std::atol(counts.back().c_str());
      if (counts.size() > 1) podset.min_count = std::atol(counts.front().c_str());
      size = size.substr(x + 1);
    }
    PodShape shape;
    shape.ns = "default";
    for (const std::string& one : split(size, '+')) {
      const std::size_t unit = one.find_first_not_of("0123456789.");
      const ResourceId id = unit == std::string::npos ? kCpu : snapshot_.resources.id_of(one.substr(unit));
      shape.request.emplace_back(id, amount_of(one, id));
    }
    shape.request.emplace_back(kPods, 1);
    std::sort(shape.request.begin(), shape.request.end());
    podset.shape = std::make_shared<const PodShape>(std::move(shape));
    return podset;
  }
  Workload& add(QueueId queue, const std::string& item) {
    const std::size_t open = item.find('(');
    const std::size_t comma = item.find(',');
    Workload workload{.ns = "default",
                      .name = item.substr(0, open),
                      .uid = "uid-" + item.substr(0, open),
                      .queue = queue,
                      .priority = std::atol(item.c_str() + open + 1)};
    workload.podsets = {podset_of("main", item.substr(comma + 1, item.find(')') - comma - 1))};
    workloads_[workload.name] = static_cast<WorkloadId>(snapshot_.workloads.size());
    return snapshot_.workloads.emplace_back(std::move(workload));
  }

  Snapshot snapshot_;
  Options options_;
  std::map<std::string, QueueId> queues_;
  std::map<std::string, WorkloadId> workloads_;
};

// One line of a table whose queues are the same for all.
struct Case {
  const char* name;
  const char* held;
  const char* waiting;
  const char* want;
};

}  // namespace gangway::planning::queueing::testing
