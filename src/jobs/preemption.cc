#include "jobs/preemption.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/action.h"
#include "client/resource.h"

namespace gangway::jobs {
namespace {

using client::resources::kAllotments;

struct Preemptions {
  struct Entry {
    std::string by;
    WallTime at;
  };
  std::vector<Entry> entries;  // oldest first
};

struct Grant {
  std::string to;
  std::vector<std::string> victims;  // uids
};

Grant read_grant(const api::Version& allotment) {
  const auto tree = json::parse(*allotment.json);
  if (!tree) return {};
  Grant grant;
  grant.to = fmt::format("{}/{}", allotment.header->name.ns, json::string_at(*tree, {"spec", "gang", "name"}));
  for (const json::Value& victim : json::array_at(*tree, {"spec", "victims"}))
    grant.victims.emplace_back(json::string_at(victim, {"uid"}));
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
  const api::Version allotment = view.get(kAllotments, {gang.ns, client::allotment_name(true, gang.name)});
  if (!allotment) return std::nullopt;
  const auto known = view.objects(kAllotments).facts(allotment, read_preemptions);
  if (known->entries.empty()) return std::nullopt;
  const Preemptions::Entry& last = known->entries.back();
  if (last.at < since || (queued_again && last.at <= *queued_again)) return std::nullopt;
  return last.by;
}

std::optional<std::string> preemptor_of(const client::View& view, const std::string& uid) {
  const client::ObjectCache& allotments = view.objects(kAllotments);
  for (const auto& [name, allotment] : allotments.all()) {
    const auto grant = allotments.facts(allotment, read_grant);
    if (std::find(grant->victims.begin(), grant->victims.end(), uid) != grant->victims.end()) return grant->to;
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
  if (!job.is_gang || job.on_preempt != OnPreempt::kRequeue || goes_on_without_lost(job, pods)) return std::nullopt;
  // What befell an earlier job of the name, or this one before it was suspended, is past.
  const api::Header& self = *job.version.header;
  auto by = last_preemptor(view, self.name, job.record.started.value_or(self.created), job.record.queued_again);
  const ReplicaPod* lost = preempted_pod(job, pods);
  if (lost == nullptr && !(by && has_lost_pods(job, pods))) return std::nullopt;
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
  if (!pod.is_preempted()) return false;
  return goes_on_without || (!job.is_gang && job.on_preempt == OnPreempt::kRequeue);
}

}  // namespace gangway::jobs
