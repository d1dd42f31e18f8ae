#include "scheduler/accounting.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/conditions.h"
#include "api/gang.h"
#include "api/pod_phase.h"
#include "api/pod_requests.h"
#include "api/training_report.h"
#include "client/action.h"
#include "json/access.h"

namespace gangway::scheduler {
namespace {

constexpr std::string_view kByUs = "PreemptionByScheduler";

std::optional<WallTime> time_at(const json::Value& tree, json::Path path) {
  const auto time = parse_rfc3339(json::string_at(tree, path));
  if (!time) return std::nullopt;
  return *time;
}

std::optional<WallTime> since_true(const json::Value& pod, std::string_view type, std::string_view reason = {}) {
  const json::Object* found = api::find_condition(pod, type);
  if (found == nullptr) return std::nullopt;
  const json::Value condition = *found;
  if (json::string_at(condition, {"status"}) != "True") return std::nullopt;
  if (!reason.empty() && json::string_at(condition, {"reason"}) != reason) return std::nullopt;
  return time_at(condition, {"lastTransitionTime"});
}

std::int64_t gpus_of(const json::Value& pod) {
  std::int64_t gpus = 0;
  for (const auto& [resource, amount] : api::pod_requests(pod))
    if (resource.ends_with("/gpu")) gpus = api::sum_of(gpus, amount);
  return gpus;
}

JobRef job_of(const json::Value& pod, const api::Header& header) {
  JobRef job{header.name.ns, "Pod", header.name.name, {}, {}};
  job.user = json::string_at(pod, {"metadata", "annotations", api::kCreatedBy});
  job.priority_class = json::string_at(pod, {"spec", "priorityClassName"});
  for (const auto& owner : header.owners) {
    if (!owner.controller) continue;
    job.kind = owner.kind;
    job.name = owner.name;
  }
  for (const auto label : {api::kOldPodGroupLabel, api::kPodGroupLabel}) {
    const std::string_view group = header.label(label);
    if (group.empty()) continue;
    job.kind = "PodGroup";
    job.name = group;
  }
  return job;
}

// When the last container ended; a pod that never had one ended when it was bound.
std::optional<WallTime> end_of(const json::Value& pod) {
  const std::string_view phase = json::string_at(pod, {"status", "phase"});
  if (phase != "Succeeded" && phase != "Failed") return std::nullopt;
  std::optional<WallTime> end = time_at(pod, {"status", "startTime"});
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const auto& container : json::array_at(pod, {"status", list}))
      if (const auto at = time_at(container, {"state", "terminated", "finishedAt"}))
        end = std::max(end.value_or(*at), *at);
  }
  return end;
}

// Keeps the sum and makes the oldest times coarser.
template <class Entry, class Merge>
void keep_within(std::vector<Entry>& entries, std::size_t bound, Merge merge) {
  while (entries.size() > bound) {
    entries[1] = merge(entries[0], entries[1]);
    entries.erase(entries.begin());
  }
}

void add_span(std::vector<Span>& spans, const Span& span) {
  if (span.gpu_seconds <= 0) return;
  const auto by_time = [](const Span& a, const Span& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); };
  const auto at = std::lower_bound(spans.begin(), spans.end(), span, by_time);
  if (at != spans.end() && at->from == span.from && at->to == span.to) {
    at->gpu_seconds = api::sum_of(at->gpu_seconds, span.gpu_seconds);
  } else {
    spans.insert(at, span);
  }
  keep_within(spans, Account::kSpans, [](const Span& a, const Span& b) {
    return Span{std::min(a.from, b.from), std::max(a.to, b.to), api::sum_of(a.gpu_seconds, b.gpu_seconds)};
  });
}

void tell_of(Account& account, WallTime at) {
  account.last_at = std::max(account.last_at.value_or(at), at);
}

// The pod is over: from now on only the account knows of it.
void settle(Account& account, const EndingPod& pod, WallTime end) {
  const WallTime start = std::min(pod.bound.value_or(end), end);
  add_span(account.waited, {pod.created, start, gpu_seconds(pod.gpus, pod.created, start)});
  add_span(account.used, {start, end, gpu_seconds(pod.gpus, start, end)});
  tell_of(account, end);
}

EndingPod ending_of(const PodUsage& pod) {
  return {.uid = pod.uid, .gpus = pod.gpus, .created = pod.created, .bound = pod.bound, .ends = pod.ends};
}

bool ran_at(const PodUsage& pod, WallTime at) {
  return pod.bound && *pod.bound <= at && (!pod.ended || *pod.ended >= at);
}

// Work that was neither saved nor lost before.
std::int64_t lost_work(const Account& account, const Sighting& seen, WallTime at) {
  WallTime kept = seen.last_checkpoint.value_or(WallTime::min());
  for (const PreemptionEntry& entry : account.preemptions)
    if (entry.how != "Shrink") kept = std::max(kept, entry.at);
  std::int64_t lost = 0;
  const auto add = [&](const PodUsage& pod) {
    if (!ran_at(pod, at)) return;
    const WallTime since = std::max({*pod.bound, kept, pod.last_checkpoint.value_or(WallTime::min())});
    lost = api::sum_of(lost, gpu_seconds(pod.gpus, since, at));
  };
  for (const PodUsage& pod : seen.pods) add(pod);
  for (const Gone& gone : seen.gone)
    if (std::find(account.settled.begin(), account.settled.end(), gone.pod.uid) == account.settled.end()) add(gone.pod);
  return lost;
}

void add_preemptions(Account& account, const Sighting& seen) {
  std::map<std::string, WallTime> told;  // by uid
  // One that was asked to go and spared after all has lost nothing.
  for (const PodUsage& pod : seen.pods)
    if (pod.preempted && pod.ends) told.emplace(pod.uid, *pod.preempted);
  for (const Gone& gone : seen.gone)
    if (gone.pod.preempted) told.emplace(gone.pod.uid, *gone.pod.preempted);
  for (const Taken& taken : seen.taken) {
    const auto at = told.find(taken.uid);
    const bool is_known = std::any_of(account.preemptions.begin(), account.preemptions.end(),
                                      [&](const PreemptionEntry& entry) { return entry.grant == taken.grant; });
    if (at == told.end() || is_known) continue;
    const std::int64_t lost = taken.how == "Shrink" ? 0 : lost_work(account, seen, at->second);
    account.preemptions.push_back({at->second, 1, lost, taken.by, taken.grant, taken.how});
    if (taken.how == "Requeue") ++account.requeues;
    tell_of(account, at->second);
  }
  keep_within(account.preemptions, Account::kPreemptions, [](const PreemptionEntry& a, const PreemptionEntry& b) {
    return PreemptionEntry{
        std::max(a.at, b.at), a.count + b.count, api::sum_of(a.gpu_seconds, b.gpu_seconds), {}, {}, {}};
  });
}

void settle_gone(Account& account, const Sighting& seen) {
  std::set<std::string> there;
  for (const PodUsage& pod : seen.pods) there.insert(pod.uid);
  std::map<std::string, const Gone*> gone;
  for (const Gone& each : seen.gone)
    if (std::find(account.settled.begin(), account.settled.end(), each.pod.uid) == account.settled.end())
      gone.emplace(each.pod.uid, &each);
  std::vector<std::string> settled;
  const auto end_seen = [](const Gone& each) { return each.pod.ended.value_or(each.seen); };
  std::erase_if(account.ending, [&](const EndingPod& pod) {
    if (there.contains(pod.uid) || settled.size() == Account::kSettledAtOnce) return false;
    const auto at = gone.find(pod.uid);
    // Nobody saw it go: by the time that it was given, it had.
    settle(account, pod, at == gone.end() ? std::min(seen.now, pod.ends.value_or(seen.now)) : end_seen(*at->second));
    if (at != gone.end()) gone.erase(at);
    settled.push_back(pod.uid);
    return true;
  });
  for (const auto& [uid, each] : gone) {
    if (settled.size() == Account::kSettledAtOnce) break;
    if (there.contains(uid) ||
        std::any_of(account.ending.begin(), account.ending.end(), [&](const auto& pod) { return pod.uid == uid; }))
      continue;
    settle(account, ending_of(each->pod), end_seen(*each));
    settled.push_back(uid);
  }
  if (!settled.empty()) account.settled = std::move(settled);
}

json::Array spans_to_json(const std::vector<Span>& spans) {
  json::Array array;
  for (const Span& span : spans)
    array.push_back(
        json::Object{{"from", to_rfc3339(span.from)}, {"to", to_rfc3339(span.to)}, {"gpuSeconds", span.gpu_seconds}});
  return array;
}

std::vector<Span> read_spans(const json::Array& array) {
  std::vector<Span> spans;
  for (const auto& item : array) {
    const auto from = time_at(item, {"from"});
    const auto to = time_at(item, {"to"});
    if (from && to) spans.push_back({*from, *to, json::integer_at(item, {"gpuSeconds"})});
  }
  return spans;
}

json::Object to_json(const EndingPod& pod) {
  json::Object object{{"uid", pod.uid}, {"gpus", pod.gpus}, {"created", to_rfc3339(pod.created)}};
  if (pod.bound) object["bound"] = to_rfc3339(*pod.bound);
  if (pod.ends) object["ends"] = to_rfc3339(*pod.ends);
  return object;
}

json::Object to_json(const PreemptionEntry& entry) {
  json::Object object{{"at", to_rfc3339(entry.at)}, {"count", entry.count}, {"gpuSeconds", entry.gpu_seconds}};
  if (!entry.by.empty()) object["by"] = entry.by;
  if (!entry.grant.empty()) object["grant"] = entry.grant;
  if (!entry.how.empty()) object["how"] = entry.how;
  return object;
}

}  // namespace

PodUsage read_usage(const api::Version& version) {
  PodUsage usage;
  // Most pods ask for none, and are not worth reading.
  if (version.json->find("/gpu\"") == std::string::npos) return usage;
  const auto tree = json::parse(*version.json);
  if (!tree) return usage;
  usage.uid = version.header->uid;
  usage.gpus = gpus_of(*tree);
  if (usage.gpus == 0) return usage;
  usage.job = job_of(*tree, *version.header);
  usage.created = version.header->created;
  if (!json::string_at(*tree, {"spec", "nodeName"}).empty()) {
    usage.bound = since_true(*tree, "PodScheduled");
    if (!usage.bound) usage.bound = time_at(*tree, {"status", "startTime"});
    if (!usage.bound) usage.bound = version.header->created;
  }
  usage.ended = end_of(*tree);
  usage.ends = version.header->deleting_since;
  usage.preempted = since_true(*tree, "DisruptionTarget", kByUs);
  usage.last_checkpoint = std::max(time_at(*tree, {"metadata", "annotations", api::kLastCheckpoint}),
                                   since_true(*tree, api::kCheckpointCondition));
  return usage;
}

Account read_account(const api::Version& record) {
  Account account;
  const auto tree = json::parse(*record.json);
  if (!tree) return account;
  account.job = {record.header->name.ns, std::string(json::string_at(*tree, {"spec", "job", "kind"})),
                 std::string(json::string_at(*tree, {"spec", "job", "name"})),
                 std::string(json::string_at(*tree, {"spec", "user"})),
                 std::string(json::string_at(*tree, {"spec", "priorityClass"}))};
  for (const auto& item : json::array_at(*tree, {"account", "ending"}))
    account.ending.push_back({std::string(json::string_at(item, {"uid"})), json::integer_at(item, {"gpus"}),
                              time_at(item, {"created"}).value_or(record.header->created), time_at(item, {"bound"}),
                              time_at(item, {"ends"})});
  account.settled = json::strings_at(*tree, {"account", "settled"});
  account.used = read_spans(json::array_at(*tree, {"account", "used"}));
  account.waited = read_spans(json::array_at(*tree, {"account", "waited"}));
  for (const auto& item : json::array_at(*tree, {"account", "preemptions"}))
    account.preemptions.push_back(
        {time_at(item, {"at"}).value_or(record.header->created), json::integer_at(item, {"count"}, 1),
         json::integer_at(item, {"gpuSeconds"}), std::string(json::string_at(item, {"by"})),
         std::string(json::string_at(item, {"grant"})), std::string(json::string_at(item, {"how"}))});
  account.requeues = json::integer_at(*tree, {"account", "requeues"});
  account.last_at = time_at(*tree, {"account", "lastAt"});
  return account;
}

json::Value record_of(const Account& account, const std::string& name) {
  json::Object spec{{"job", json::Object{{"kind", account.job.kind}, {"name", account.job.name}}}};
  if (!account.job.user.empty()) spec["user"] = account.job.user;
  if (!account.job.priority_class.empty()) spec["priorityClass"] = account.job.priority_class;
  json::Array ending;
  for (const EndingPod& pod : account.ending) ending.push_back(to_json(pod));
  json::Array settled;
  for (const std::string& uid : account.settled) settled.emplace_back(uid);
  json::Array preemptions;
  for (const PreemptionEntry& entry : account.preemptions) preemptions.push_back(to_json(entry));
  json::Object told{{"ending", std::move(ending)},           {"settled", std::move(settled)},
                    {"used", spans_to_json(account.used)},   {"waited", spans_to_json(account.waited)},
                    {"preemptions", std::move(preemptions)}, {"requeues", account.requeues},
                    {"usedGpuSeconds", total(account.used)}, {"waitedGpuSeconds", total(account.waited)},
                    {"lostGpuSeconds", total_lost(account)}};
  if (account.last_at) told["lastAt"] = to_rfc3339(*account.last_at);
  return json::Object{{"apiVersion", "gangway.dev/v1alpha1"},
                      {"kind", "UsageRecord"},
                      {"metadata", json::Object{{"namespace", account.job.ns}, {"name", name}}},
                      {"spec", std::move(spec)},
                      {"account", std::move(told)}};
}

std::string record_name(const JobRef& job) {
  return client::generated_name(job.name, job.kind, job.user + "\n" + job.priority_class, 0, 0, 253);
}

Account next_account(const Account& before, const Sighting& seen) {
  Account account = before;
  add_preemptions(account, seen);
  for (const PodUsage& pod : seen.pods) {
    if (pod.gpus == 0 || !pod.ends) continue;
    const auto known = std::find_if(account.ending.begin(), account.ending.end(),
                                    [&](const EndingPod& each) { return each.uid == pod.uid; });
    if (known == account.ending.end()) {
      account.ending.push_back(ending_of(pod));
    } else {
      *known = ending_of(pod);
    }
  }
  settle_gone(account, seen);
  return account;
}

std::int64_t gpu_seconds(std::int64_t gpus, WallTime from, WallTime to) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(to - from).count();
  return gpus * std::max<std::int64_t>(0, seconds);
}

std::int64_t total(const std::vector<Span>& spans) {
  std::int64_t sum = 0;
  for (const Span& span : spans) sum = api::sum_of(sum, span.gpu_seconds);
  return sum;
}

std::int64_t total_since(const std::vector<Span>& spans, WallTime since) {
  std::int64_t sum = 0;
  for (const Span& span : spans) {
    if (span.to <= since) continue;
    const auto whole = std::chrono::duration<double>(span.to - span.from).count();
    const auto part = std::chrono::duration<double>(span.to - std::max(span.from, since)).count();
    const double share = whole <= 0 ? 1.0 : part / whole;
    sum = api::sum_of(sum, static_cast<std::int64_t>(static_cast<double>(span.gpu_seconds) * share + 0.5));
  }
  return sum;
}

std::int64_t total_lost(const Account& account) {
  std::int64_t sum = 0;
  for (const PreemptionEntry& entry : account.preemptions) sum = api::sum_of(sum, entry.gpu_seconds);
  return sum;
}

json::Object allotment_account(const std::vector<Account>& accounts, const std::vector<PodUsage>& pods) {
  std::int64_t used = 0;
  std::int64_t waited = 0;
  std::int64_t lost = 0;
  std::int64_t requeues = 0;
  std::map<std::string, std::int64_t> lost_to;
  std::optional<WallTime> started;
  std::optional<WallTime> finished;
  const auto later = [](std::optional<WallTime>& time, WallTime at) { time = std::max(time.value_or(at), at); };
  for (const Account& account : accounts) {
    used = api::sum_of(used, total(account.used));
    waited = api::sum_of(waited, total(account.waited));
    lost = api::sum_of(lost, total_lost(account));
    requeues = std::max(requeues, account.requeues);
    for (const PreemptionEntry& entry : account.preemptions)
      if (entry.gpu_seconds > 0) lost_to[entry.by] += entry.gpu_seconds;
  }
  const bool is_over = std::all_of(pods.begin(), pods.end(), [](const PodUsage& pod) { return pod.ended.has_value(); });
  for (const PodUsage& pod : pods) {
    if (!pod.bound) continue;
    waited = api::sum_of(waited, gpu_seconds(pod.gpus, pod.created, *pod.bound));
    later(started, *pod.bound);
    if (!is_over) continue;
    used = api::sum_of(used, gpu_seconds(pod.gpus, *pod.bound, *pod.ended));
    later(finished, *pod.ended);
  }
  json::Array to;
  for (const auto& [who, seconds] : lost_to) {
    const std::size_t slash = who.find('/');
    json::Object entry{{"gpuSeconds", seconds}};
    if (slash != std::string::npos) {
      entry["namespace"] = who.substr(0, slash);
      entry["name"] = who.substr(slash + 1);
    }
    to.push_back(std::move(entry));
  }
  const auto text = [](const std::optional<WallTime>& time) -> json::Value {
    if (!time) return nullptr;
    return json::Value(to_rfc3339(*time));
  };
  return {{"usedGpuSeconds", used},      {"waitedGpuSeconds", waited}, {"lostGpuSeconds", lost},
          {"lostTo", std::move(to)},     {"attempts", requeues + 1},   {"startedAt", text(started)},
          {"finishedAt", text(finished)}};
}

JobRef shown_job(const JobRef& job, const client::ObjectCache& replica_sets) {
  JobRef shown = job;
  if (job.kind != "ReplicaSet") return shown;
  const api::Version set = replica_sets.get({job.ns, job.name});
  if (!set) return shown;
  for (const auto& owner : set.header->owners) {
    if (!owner.controller) continue;
    shown.kind = owner.kind;
    shown.name = owner.name;
  }
  return shown;
}

}  // namespace gangway::scheduler
