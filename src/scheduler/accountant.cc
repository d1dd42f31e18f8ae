#include "scheduler/accountant.h"

#include <algorithm>
#include <utility>

#include "api/pod_phase.h"
#include "client/resource.h"
#include "json/access.h"
#include "scheduler/allotment.h"
#include "scheduler/facts.h"

namespace gangway::scheduler {
namespace {

using client::Create;
using client::Delete;
using client::KeySink;
using client::ObjectCache;
using client::ObjectChange;
using client::Outcome;
using client::PatchStatus;
using client::Update;
using client::View;
using client::WorkQueue;
using client::resources::kNamespaces;
using client::resources::kPods;
using client::resources::kReplicaSets;

constexpr const char* kByRecord = "pods_by_usage_record";  // namespace/name of the UsageRecord
constexpr const char* kByGang = "gpu_pods_by_gang";        // namespace/kind/name
constexpr const char* kRecordsByGang = "usage_records_by_gang";
constexpr const char* kGangs = "gangs with accounts";  // the resource in keys of gangs

std::string joined(const api::ObjectName& name) {
  return name.ns + "/" + name.name;
}

// Who an Allotment can be for: the group, or the pod by itself.
std::string gang_of(const std::string& ns, bool is_group, const std::string& name) {
  return ns + (is_group ? "/PodGroup/" : "/Pod/") + name;
}

std::string gang_of(const api::Version& pod, const PodUsage& usage) {
  const bool is_group = usage.job.kind == "PodGroup";
  return gang_of(usage.job.ns, is_group, is_group ? usage.job.name : pod.header->name.name);
}

api::ObjectKey gang_key(const api::ObjectName& allotment) {
  return {kGangs, allotment};
}

api::ObjectName record_of_pod(const PodUsage& usage) {
  return {usage.job.ns, record_name(usage.job)};
}

std::vector<std::string> records_of_pod(const ObjectCache& cache, const api::Version& pod) {
  const auto usage = cache.facts(pod, read_usage);
  if (usage->gpus == 0) return {};
  return {joined(record_of_pod(*usage))};
}

std::vector<std::string> gangs_of_pod(const ObjectCache& cache, const api::Version& pod) {
  const auto usage = cache.facts(pod, read_usage);
  if (usage->gpus == 0) return {};
  return {gang_of(pod, *usage)};
}

std::vector<std::string> gangs_of_record(const ObjectCache& cache, const api::Version& record) {
  const auto account = cache.facts(record, read_account);
  if (account->job.kind != "PodGroup" && account->job.kind != "Pod") return {};
  return {gang_of(account->job.ns, account->job.kind == "PodGroup", account->job.name)};
}

void on_allotment(const ObjectChange& change, const View&, const KeySink& sink) {
  if (change.now) sink(gang_key(change.now.header->name), WorkQueue::Priority::kNormal);
}

void on_record(const ObjectChange& change, const View& view, const KeySink& sink) {
  const api::Version& known = change.now ? change.now : change.before;
  sink(client::key_of(kUsageRecords, known.header->name), WorkQueue::Priority::kNormal);
  const JobRef job = read_account(known).job;
  const api::ObjectName allotment{job.ns, allotment_name(job.kind == "PodGroup", job.name)};
  if (view.get(kAllotments, allotment)) sink(gang_key(allotment), WorkQueue::Priority::kNormal);
}

// How long records are kept may have changed.
void on_configuration(const ObjectChange&, const View& view, const KeySink& sink) {
  for (const auto& [name, record] : view.objects(kUsageRecords).all())
    sink(client::key_of(kUsageRecords, name), WorkQueue::Priority::kNormal);
}

// Bound, ended or told to end; read off the headers, since pods change often.
bool has_news(const ObjectChange& pod) {
  if (!pod.before) return true;
  const api::Header& before = *pod.before.header;
  const api::Header& now = *pod.now.header;
  return before.field("spec.nodeName") != now.field("spec.nodeName") || api::has_ended(before) != api::has_ended(now) ||
         before.deleting_since != now.deleting_since;
}

std::vector<PodUsage> usages(const View& view, const char* index, const std::string& key) {
  std::vector<PodUsage> all;
  const ObjectCache& pods = view.objects(kPods);
  for (const api::Version& pod : pods.with_key(index, key)) all.push_back(*pods.facts(pod, read_usage));
  return all;
}

// The grants that took the room of these pods, the first of each pod.
std::vector<Taken> grants_over(const View& view, const Sighting& seen) {
  std::vector<Taken> taken;
  const ObjectCache& allotments = view.objects(kAllotments);
  const auto look_up = [&](const PodUsage& pod) {
    if (!pod.preempted) return;
    api::Version first;
    for (const api::Version& allotment : allotments.with_key(allotments_by_victim().name, pod.uid))
      if (!first || allotment.header->created < first.header->created) first = allotment;
    if (!first) return;
    const auto facts = allotments.facts(first, read_allotment);
    for (const AllotmentFacts::Victim& victim : facts->victims)
      if (victim.uid == pod.uid)
        taken.push_back({pod.uid, first.header->name.ns + "/" + facts->gang, grant_key(*first.header), victim.how});
  };
  for (const PodUsage& pod : seen.pods) look_up(pod);
  for (const Gone& gone : seen.gone) look_up(gone.pod);
  return taken;
}

std::optional<WallTime> checkpoint_of(const View& view, const JobRef& job) {
  if (job.kind != "PodGroup") return std::nullopt;
  const api::Version group = view.get(kPodGroups, {job.ns, job.name});
  if (!group) return std::nullopt;
  return view.objects(kPodGroups).facts(group, read_group)->wishes.last_checkpoint;
}

Duration retention(const View& view) {
  const api::Version configuration = view.get(kConfigurations, {"", "default"});
  if (!configuration) return Limits().usage_retention;
  return view.objects(kConfigurations).facts(configuration, read_limits)->usage_retention;
}

}  // namespace

void Accountant::on_pod(const ObjectChange& change, const View& view, const KeySink& sink) const {
  const bool is_gone = change.type == ObjectChange::Type::kDeleted;
  if (!is_gone && !has_news(change)) return;
  const auto usage = view.objects(kPods).facts(change.now, read_usage);
  if (usage->gpus == 0) return;
  const api::ObjectName record = record_of_pod(*usage);
  if (is_gone) gone_[record].emplace(usage->uid, Gone{*usage, view.now()});
  if (is_gone || usage->ends) sink(client::key_of(kUsageRecords, record), WorkQueue::Priority::kNormal);
  const bool is_group = usage->job.kind == "PodGroup";
  const std::string& gang = is_group ? usage->job.name : change.now.header->name.name;
  const api::ObjectName allotment{usage->job.ns, allotment_name(is_group, gang)};
  if (view.get(kAllotments, allotment)) sink(gang_key(allotment), WorkQueue::Priority::kNormal);
}

std::vector<client::WatchRule> Accountant::watches() const {
  client::WatchRule pods{.resource = kPods};
  pods.keys = [this](const ObjectChange& change, const View& view, const KeySink& sink) { on_pod(change, view, sink); };
  pods.indexes = {{kByRecord, records_of_pod}, {kByGang, gangs_of_pod}};
  client::WatchRule records{.resource = kUsageRecords, .keys = on_record};
  records.indexes = {{kRecordsByGang, gangs_of_record}};
  client::WatchRule allotments{.resource = kAllotments, .keys = on_allotment};
  allotments.indexes = {allotments_by_victim()};
  return {std::move(pods),
          std::move(records),
          std::move(allotments),
          {.resource = kConfigurations, .keys = on_configuration},
          {.resource = kPodGroups},
          {.resource = kNamespaces},
          {.resource = kReplicaSets, .required = false}};
}

Outcome Accountant::reconcile(const api::ObjectKey& key, const View& view) const {
  return key.resource == kGangs ? show_in_allotment(key, view) : keep_record(key, view);
}

Outcome Accountant::keep_record(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  // Records go with their namespace, and none is made in one that goes.
  const api::Version ns = view.get(kNamespaces, {"", key.object.ns});
  if (!ns || ns.header->deleting_since) {
    gone_.erase(key.object);
    return outcome;
  }
  const api::Version record = view.get(kUsageRecords, key.object);
  Account before = record ? *view.objects(kUsageRecords).facts(record, read_account) : Account();
  Sighting seen{.pods = usages(view, kByRecord, joined(key.object)), .now = view.now()};
  auto& gone = gone_[key.object];
  for (const std::string& uid : before.settled) gone.erase(uid);
  for (const auto& [uid, pod] : gone) seen.gone.push_back(pod);
  if (gone.empty()) gone_.erase(key.object);
  if (!record) {
    if (seen.pods.empty() && seen.gone.empty()) return outcome;
    const JobRef& job = seen.pods.empty() ? seen.gone.front().pod.job : seen.pods.front().job;
    before.job = shown_job(job, view.objects(kReplicaSets));
  }
  seen.last_checkpoint = checkpoint_of(view, before.job);
  seen.taken = grants_over(view, seen);
  const Account after = next_account(before, seen);
  if (!(after == before)) {
    json::Value body = record_of(after, key.object.name);
    if (record) {
      outcome.allowed_now.push_back(Update{client::target_of(kUsageRecords, record), std::move(body)});
    } else {
      outcome.allowed_now.push_back(Create{kUsageRecords, key.object.ns, std::move(body)});
    }
  } else if (record && seen.pods.empty()) {
    const WallTime due = before.last_at.value_or(record.header->created) + retention(view);
    if (due <= view.now()) {
      outcome.allowed_now.push_back(Delete{client::target_of(kUsageRecords, record)});
    } else {
      outcome.look_again(due);
    }
  }
  return outcome;
}

Outcome Accountant::show_in_allotment(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version allotment = view.get(kAllotments, key.object);
  if (!allotment || allotment.header->deleting_since) return outcome;
  const auto facts = view.objects(kAllotments).facts(allotment, read_allotment);
  // What is under way is the scheduler's to write.
  if (facts->is_open()) return outcome;
  const std::string gang = gang_of(key.object.ns, facts->is_group, facts->gang);
  const ObjectCache& records = view.objects(kUsageRecords);
  std::vector<Account> accounts;
  for (const api::Version& record : records.with_key(kRecordsByGang, gang))
    accounts.push_back(*records.facts(record, read_account));
  const std::vector<PodUsage> pods = usages(view, kByGang, gang);
  if (accounts.empty() && pods.empty()) return outcome;
  const auto tree = json::parse(*allotment.json);
  if (!tree) return outcome;
  json::Object wanted = allotment_account(accounts, pods);
  const json::Object& shown = json::members_at(*tree, {"status"});
  const bool is_shown = std::all_of(wanted.begin(), wanted.end(), [&](const auto& field) {
    const json::Value* at = shown.if_contains(field.key());
    return at ? json::equal(*at, field.value()) : field.value().is_null();
  });
  if (is_shown) return outcome;
  json::Value body = json::Object{{"status", std::move(wanted)}};
  outcome.allowed_now.push_back(PatchStatus{client::target_of(kAllotments, allotment), std::move(body)});
  return outcome;
}

}  // namespace gangway::scheduler
