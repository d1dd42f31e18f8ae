#include "jobs/preemption.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/action.h"
#include "client/resource.h"

namespace gangway::jobs {
namespace {

using client::resources::kAllotments;

struct Preemption {
  std::string by;
  WallTime at;
};

struct Preemptions {
  std::vector<Preemption> entries;  // oldest first
};

struct Grant {
  struct Victim {
    std::string uid;
    std::string gang;  // as "namespace/name"
    bool comes_back;
  };
  std::string to;
  std::optional<WallTime> at;
  std::vector<Victim> victims;
};

Grant read_grant(const api::Version& allotment) {
  const auto tree = json::parse(*allotment.json);
  if (!tree) return {};
  Grant grant;
  grant.to = fmt::format("{}/{}", allotment.header->name.ns, json::string_at(*tree, {"spec", "gang", "name"}));
  if (const auto at = parse_rfc3339(json::string_at(*tree, {"spec", "grantedAt"}))) grant.at = *at;
  for (const json::Value& victim : json::array_at(*tree, {"spec", "victims"}))
    grant.victims.push_back({std::string(json::string_at(victim, {"uid"})),
                             std::string(json::string_at(victim, {"gang"})),
                             json::string_at(victim, {"how"}) == "Requeue"});
  return grant;
}

Preemptions read_preemptions(const api::Version& allotment) {
  Preemptions preemptions;
  const auto tree = json::parse(*allotment.json);
  if (!tree) return preemptions;
  for (const json::Value& entry : json::array_at(*tree, {"status", "preemptedBy"})) {
    const auto at = parse_rfc3339(json::string_at(entry, {"at"}));
    if (!at) continue;
    preemptions.entries.push_back(
        {fmt::format("{}/{}", json::string_at(entry, {"namespace"}), json::string_at(entry, {"name"})), *at});
  }
  return preemptions;
}

// A gang of one pod is bound without an Allotment, in which its preemptions would be on record. The grants of those who
// took its room are there all the same, before it was told to end.
std::optional<Preemption> last_grant_against(const client::View& view, const api::ObjectName& gang) {
  const std::string full_name = fmt::format("{}/{}", gang.ns, gang.name);
  const auto is_its = [&](const Grant::Victim& victim) { return victim.comes_back && victim.gang == full_name; };
  const client::ObjectCache& allotments = view.objects(kAllotments);
  std::optional<Preemption> last;
  for (const auto& [name, allotment] : allotments.all()) {
    const auto grant = allotments.facts(allotment, read_grant);
    if (!grant->at || (last && *grant->at <= last->at)) continue;
    if (std::any_of(grant->victims.begin(), grant->victims.end(), is_its)) last = Preemption{grant->to, *grant->at};
  }
  return last;
}

std::optional<Preemption> last_on_record(const client::View& view, const api::ObjectName& gang) {
  const api::Version allotment = view.get(kAllotments, {gang.ns, client::allotment_name(true, gang.name)});
  if (!allotment) return last_grant_against(view, gang);
  const auto known = view.objects(kAllotments).facts(allotment, read_preemptions);
  return known->entries.empty() ? std::nullopt : std::optional(known->entries.back());
}

// Whether it is queued again when it cannot go on.
bool comes_back(const KubeflowJob& job) {
  if (job.on_preempt == OnPreempt::kShrink) return job.gang_wish().is_elastic();
  return job.on_preempt == OnPreempt::kRequeue;
}

// Null: there is none.
const ReplicaPod* preempted_pod(const KubeflowJob& job, const std::vector<ReplicaPod>& pods) {
  const auto at = std::find_if(pods.begin(), pods.end(),
                               [&](const ReplicaPod& pod) { return has_a_part(job, pod) && pod.is_preempted(); });
  return at == pods.end() ? nullptr : &*at;
}

// Some that were active are not there any more.
bool has_lost_pods(const KubeflowJob& job, const std::vector<ReplicaPod>& pods) {
  const auto there = std::count_if(
      pods.begin(), pods.end(), [&](const ReplicaPod& pod) { return has_a_part(job, pod) && !pod.is_terminating(); });
  return there < job.record.active;
}

}  // namespace

std::optional<std::string> last_preemptor(const client::View& view, const api::ObjectName& gang, WallTime since,
                                          std::optional<WallTime> queued_again) {
  const auto last = last_on_record(view, gang);
  if (!last || last->at < since || (queued_again && last->at <= *queued_again)) return std::nullopt;
  return last->by;
}

std::optional<std::string> preemptor_of(const client::View& view, const std::string& uid) {
  const client::ObjectCache& allotments = view.objects(kAllotments);
  for (const auto& [name, allotment] : allotments.all()) {
    const auto grant = allotments.facts(allotment, read_grant);
    const auto is_it = [&](const Grant::Victim& victim) { return victim.uid == uid; };
    if (std::any_of(grant->victims.begin(), grant->victims.end(), is_it)) return grant->to;
  }
  return std::nullopt;
}

client::KeyMapper its_gang(const client::Resource& jobs) {
  return [jobs](const client::ObjectChange& change, const client::View&, const client::KeySink& sink) {
    const auto tree = json::parse(*change.now.json);
    if (!tree || json::string_at(*tree, {"spec", "gang", "kind"}) != "PodGroup") return;
    const api::ObjectName job{change.now.header->name.ns,
                              std::string(json::string_at(*tree, {"spec", "gang", "name"}))};
    sink(client::key_of(jobs, job), client::WorkQueue::Priority::kNormal);
  };
}

bool goes_on_without_lost(const KubeflowJob& job, const std::vector<ReplicaPod>& pods) {
  const GangWish wish = job.gang_wish();
  if (!job.is_gang || !wish.is_elastic()) return false;
  std::int64_t living = 0;
  bool has_chief = false;
  for (const ReplicaPod& pod : pods) {
    if (!has_a_part(job, pod) || pod.is_terminating() || !pod.has_node() || pod.has_failed()) continue;
    ++living;
    has_chief = has_chief || job.is_chief(*pod.spec, pod.index);
  }
  return has_chief && living >= wish.minimum;
}

std::optional<Displacement> displacement_of(const KubeflowJob& job, const std::vector<ReplicaPod>& pods,
                                            const client::View& view) {
  if (!job.is_gang || !comes_back(job) || goes_on_without_lost(job, pods)) return std::nullopt;
  const ReplicaPod* lost = preempted_pod(job, pods);
  // Who shrinks has preemptions on record that it went on after: they do not say why others are missing now.
  if (lost == nullptr && (job.on_preempt != OnPreempt::kRequeue || !has_lost_pods(job, pods))) return std::nullopt;
  // What befell an earlier job of the name, or this one before it was suspended, is past.
  const api::Header& self = *job.version.header;
  auto by = last_preemptor(view, self.name, job.record.started.value_or(self.created), job.record.queued_again);
  if (lost == nullptr && !by) return std::nullopt;
  if (!by) by = preemptor_of(view, lost->header().uid);
  return Displacement{by.value_or("")};
}

bool was_preempted(const KubeflowJob& job, const std::vector<ReplicaPod>& pods, const client::View& view,
                   WallTime since) {
  if (preempted_pod(job, pods) != nullptr) return true;
  if (!job.is_gang) return false;
  const api::Header& self = *job.version.header;
  since = std::max(since, job.record.started.value_or(self.created));
  return last_preemptor(view, self.name, since, job.record.queued_again).has_value();
}

bool is_forgiven(const KubeflowJob& job, const ReplicaPod& pod, bool goes_on_without) {
  if (goes_on_without) return pod.is_terminating();
  return pod.is_preempted() && !job.is_gang && job.on_preempt == OnPreempt::kRequeue;
}

}  // namespace gangway::jobs
