#include "sim/running_pods.h"

#include <fmt/format.h>

#include "sim/reading.h"

namespace gangway::sim {
namespace {

// Nobody waits for the node of such a pod, as with kubectl delete --force.
bool has_no_time_to_end(const json::Value& pod) {
  const auto* grace = json::find(pod, {"spec", "terminationGracePeriodSeconds"});
  return grace != nullptr && grace->is_number() && grace->to_number<std::int64_t>() == 0;
}

class WhatIsOverRunsNowhere final : public Law {
 public:
  explicit WhatIsOverRunsNowhere(RunningPods& pods) : pods_(pods) {}

  void on_change(const api::ResourceName& resource, const store::Change& change, const store::Root&,
                 Verdicts& verdicts) override {
    if (resource != "pods") return;
    if (change.type == store::ChangeType::kDeleted) return see_gone(change.before, verdicts);
    if (has_ended(phase_of(tree_of(change.now)))) judge(change.now, "has ended", verdicts);
  }
  void on_restart(const store::Root& before, const store::Root&, const store::Root& root, Verdicts& verdicts) override {
    for (const auto& was : before.objects("pods")) {
      const auto is = root.get({"pods", was.header->name});
      if (!is || is.header->uid != was.header->uid) see_gone(was, verdicts);
    }
  }
  void at_rest(const store::Root& root, Verdicts& verdicts) override {
    auto uids = pods_.uids();
    for (const auto& version : root.objects("pods"))
      if (!has_ended(phase_of(tree_of(version)))) uids.erase(version.header->uid);
    for (const auto& uid : uids) verdicts.broken(fmt::format("{} runs, and the API has no such pod", uid));
  }

 private:
  void see_gone(const api::Version& last, Verdicts& verdicts) {
    if (has_no_time_to_end(tree_of(last))) return pods_.let_go(last.header->uid);
    judge(last, "is gone", verdicts);
  }
  void judge(const api::Version& version, std::string_view what, Verdicts& verdicts) {
    const auto& header = *version.header;
    if (pods_.is_over(header.uid)) return;
    pods_.end(header.uid);
    if (pods_.uids().contains(header.uid))
      verdicts.broken(fmt::format("{} {} and still runs as {}", named(header.name), what, header.uid));
  }

  RunningPods& pods_;
};

}  // namespace

std::set<std::string> RunningPods::others(const agent::PodIdentity& pod) const {
  std::set<std::string> uids;
  if (auto at = running_.find({pod.ns, pod.name}); at != running_.end()) {
    for (const auto& [uid, count] : at->second)
      if (uid != pod.uid && !let_go_.contains(uid)) uids.insert(uid);
  }
  return uids;
}

std::set<std::string> RunningPods::uids() const {
  std::set<std::string> all;
  for (const auto& [name, of_name] : running_)
    for (const auto& [uid, count] : of_name) all.insert(uid);
  return all;
}

void RunningPods::remove(const agent::PodIdentity& pod) {
  auto& of_name = running_[{pod.ns, pod.name}];
  if (--of_name[pod.uid] <= 0) of_name.erase(pod.uid);
  if (of_name.empty()) running_.erase({pod.ns, pod.name});
}

std::unique_ptr<Law> what_is_over_runs_nowhere(RunningPods& pods) {
  return std::make_unique<WhatIsOverRunsNowhere>(pods);
}

}  // namespace gangway::sim
