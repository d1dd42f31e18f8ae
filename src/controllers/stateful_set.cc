#include "controllers/stateful_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "client/resource.h"
#include "controllers/owned.h"
#include "controllers/pods.h"
#include "controllers/revisions.h"
#include "controllers/stateful_plan.h"
#include "controllers/stateful_pods.h"

namespace gangway::controllers {
namespace {

using client::Emit;
using client::EventType;
using client::Outcome;
using client::PatchStatus;
using client::View;
using client::resources::kControllerRevisions;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPods;
using client::resources::kStatefulSets;

// What one look may ask for; the next one asks for more.
constexpr std::size_t kMostAtOnce = 500;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int32_t>::max();

struct Member {
  api::Version pod;
  std::shared_ptr<const PodFacts> facts;
};
using Members = std::map<std::int64_t, Member>;

struct Look {
  const View& view;
  const Owner& owner;
  json::Value set;
  StatefulSpec spec;
  Duration min_ready;
  Members members;
  std::vector<Revision> revisions;
  const Revision* current = nullptr;
  const Revision* update = nullptr;

  const std::string& name() const { return owner.object.header->name.name; }
};

StatefulSpec read_spec(const json::Value& set) {
  return {.start = json::integer_at(set, {"spec", "ordinals", "start"}),
          .replicas = std::max<std::int64_t>(0, json::integer_at(set, {"spec", "replicas"}, 1)),
          .ordered = json::string_at(set, {"spec", "podManagementPolicy"}) != "Parallel",
          .on_delete = json::string_at(set, {"spec", "updateStrategy", "type"}) == "OnDelete",
          .partition = json::integer_at(set, {"spec", "updateStrategy", "rollingUpdate", "partition"})};
}

bool is_available(const Look& look, const PodFacts& facts, Outcome& outcome) {
  if (!is_running_and_ready(facts)) return false;
  const auto from = available_at(facts, look.min_ready);
  if (!from) return false;
  if (*from > look.view.now()) outcome.look_again(*from);
  return *from <= look.view.now();
}

std::map<std::int64_t, StatefulPod> states(const Look& look, Outcome& outcome) {
  std::map<std::int64_t, StatefulPod> pods;
  for (const auto& [ordinal, member] : look.members) {
    pods[ordinal] = {.terminating = is_terminating(member.pod),
                     .finished = is_finished(*member.facts),
                     .ready = is_running_and_ready(*member.facts),
                     .available = is_available(look, *member.facts, outcome),
                     .updated = member.pod.header->label(kRevisionLabel) == look.update->name()};
  }
  return pods;
}

client::Announcement announcement(const Look& look, const char* verb, const char* done, const char* failed,
                                  const std::string& pod) {
  const std::string subject = fmt::format("{} Pod {} in StatefulSet {}", verb, pod, look.name());
  return {.done = Emit{look.owner.subject(), EventType::kNormal, done, subject + " successful"},
          .failed = Emit{look.owner.subject(), EventType::kWarning, failed, subject + " failed error: "}};
}

void create(const Look& look, std::int64_t ordinal, Outcome& outcome) {
  ClaimState claims = claims_of(look.view, look.owner, look.set, ordinal, {}, true);
  for (client::Action& action : claims.create) outcome.allowed_now.push_back(std::move(action));
  if (claims.is_blocked || !claims.create.empty()) return;
  const Revision& revision = look.spec.keeps_current(ordinal) ? *look.current : *look.update;
  const json::Value pod_template = template_of(revision);
  if (pod_template.is_null()) return;
  const api::Header& self = *look.owner.object.header;
  client::Create action{kPods, self.name.ns, stateful_pod(look.owner, look.set, pod_template, revision.name(), ordinal),
                        self.uid};
  action.announce = announcement(look, "create", "SuccessfulCreate", "FailedCreate", pod_name(look.name(), ordinal));
  outcome.allowed_now.push_back(std::move(action));
}

void remove(const Look& look, std::int64_t ordinal, Outcome& outcome) {
  const Member& member = look.members.at(ordinal);
  const std::string& name = member.pod.header->name.name;
  if (is_finished(*member.facts) && look.spec.contains(ordinal)) {
    const bool failed = member.facts->phase == PodPhase::kFailed;
    outcome.allowed_now.push_back(
        Emit{look.owner.subject(), failed ? EventType::kWarning : EventType::kNormal,
             failed ? "RecreatingFailedPod" : "RecreatingTerminatedPod",
             fmt::format("StatefulSet {}/{} is recreating {} Pod {}", look.owner.object.header->name.ns, look.name(),
                         failed ? "failed" : "terminated", name)});
  }
  client::Delete action{client::target_by_uid(kPods, member.pod)};
  action.announce = announcement(look, "delete", "SuccessfulDelete", "FailedDelete", name);
  outcome.allowed_now.push_back(std::move(action));
}

// Claims and labels of the pods that are there. The ordinals whose claims have to be given away before they may go.
std::set<std::int64_t> mend(const Look& look, Outcome& outcome) {
  std::set<std::int64_t> held_back;
  for (const auto& [ordinal, member] : look.members) {
    if (outcome.allowed_now.size() >= kMostAtOnce) break;
    if (is_terminating(member.pod)) continue;
    const bool is_kept = look.spec.contains(ordinal);
    ClaimState claims = claims_of(look.view, look.owner, look.set, ordinal, member.pod, is_kept);
    if (!claims.own.empty()) held_back.insert(ordinal);
    for (client::Action& action : claims.own) outcome.allowed_now.push_back(std::move(action));
    // A pod that waits for a claim that somebody deleted would wait for ever.
    if (is_kept && member.facts->phase == PodPhase::kPending)
      for (client::Action& action : claims.create) outcome.allowed_now.push_back(std::move(action));
    if (!is_kept) continue;
    if (auto action = restore_identity(look.owner, member.pod, ordinal))
      outcome.allowed_now.push_back(std::move(*action));
  }
  return held_back;
}

// In growing steps: a template that nobody admits costs one attempt and not hundreds.
std::size_t most_new_pods(const Look& look) {
  const auto& setbacks = look.view.setbacks();
  const bool refused = std::any_of(setbacks.begin(), setbacks.end(),
                                   [](const client::Setback& setback) { return setback.verb == "create"; });
  return refused ? 1 : std::clamp<std::size_t>(look.members.size(), 1, kMostAtOnce);
}

void truncate(const Look& look, Outcome& outcome) {
  std::set<std::string> in_use{look.current->name(), look.update->name()};
  for (const auto& [ordinal, member] : look.members) in_use.emplace(member.pod.header->label(kRevisionLabel));
  const std::int64_t limit = json::integer_at(look.set, {"spec", "revisionHistoryLimit"}, kNoLimit);
  for (client::Action& action : truncate_history(look.revisions, in_use, static_cast<std::size_t>(limit)))
    outcome.allowed_now.push_back(std::move(action));
}

void act(const Look& look, Outcome& outcome) {
  const StatefulPlan next = plan(look.spec, states(look, outcome));
  const auto held_back = mend(look, outcome);
  const std::size_t most = std::min(next.create.size(), most_new_pods(look));
  for (std::size_t i = 0; i < most; ++i) create(look, next.create[i], outcome);
  for (const std::int64_t ordinal : next.remove)
    if (outcome.allowed_now.size() < kMostAtOnce && !held_back.contains(ordinal)) remove(look, ordinal, outcome);
  truncate(look, outcome);
}

struct Numbers {
  std::int64_t replicas = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::int64_t current = 0;
  std::int64_t updated = 0;
};

Numbers count(const Look& look, Outcome& outcome) {
  Numbers numbers;
  for (const auto& [ordinal, member] : look.members) {
    ++numbers.replicas;
    numbers.ready += is_running_and_ready(*member.facts) ? 1 : 0;
    numbers.available += is_available(look, *member.facts, outcome) ? 1 : 0;
    if (is_terminating(member.pod)) continue;
    const std::string_view revision = member.pod.header->label(kRevisionLabel);
    numbers.current += revision == look.current->name() ? 1 : 0;
    numbers.updated += revision == look.update->name() ? 1 : 0;
  }
  return numbers;
}

void write_status(const Look& look, Outcome& outcome) {
  Numbers numbers = count(look, outcome);
  std::string current = look.current->name();
  const std::string& update = look.update->name();
  const std::int64_t wanted = look.spec.replicas;
  const bool is_through =
      !look.spec.on_delete && numbers.updated == wanted && numbers.ready == wanted && numbers.replicas == wanted;
  if (is_through) {
    current = update;
    numbers.current = numbers.updated;
  }
  const std::pair<const char*, std::int64_t> counts[] = {
      {"replicas", numbers.replicas},           {"readyReplicas", numbers.ready},
      {"availableReplicas", numbers.available}, {"currentReplicas", numbers.current},
      {"updatedReplicas", numbers.updated},     {"observedGeneration", look.owner.object.header->generation}};
  json::Object status;
  for (const auto& [key, number] : counts)
    if (json::integer_at(look.set, {"status", key}) != number) status[key] = number;
  const std::pair<const char*, const std::string&> names[] = {{"currentRevision", current}, {"updateRevision", update}};
  for (const auto& [key, text] : names)
    if (json::string_at(look.set, {"status", key}) != text) status[key] = text;
  // Kubernetes has said so since the first revision, and clients read it as a number.
  if (json::find(look.set, {"status", "collisionCount"}) == nullptr) status["collisionCount"] = 0;
  if (status.empty()) return;
  outcome.allowed_now.push_back(PatchStatus{client::target_by_uid(kStatefulSets, look.owner.object),
                                            json::Object{{"status", std::move(status)}}});
}

// Finds the current and the new revision; what has to happen first goes into the outcome.
bool find_revisions(Look& look, Outcome& outcome) {
  const std::int64_t collisions = json::integer_at(look.set, {"status", "collisionCount"});
  CurrentRevision found = find_revision(look.view, look.owner, look.set, look.revisions, collisions);
  if (found.collides) {
    outcome.allowed_now.push_back(
        PatchStatus{client::target_of(kStatefulSets, look.owner.object),
                    json::Object{{"status", json::Object{{"collisionCount", collisions + 1}}}}});
    return false;
  }
  if (!found.actions.empty() || !found.index) {
    outcome.allowed_now = std::move(found.actions);
    return false;
  }
  look.update = &look.revisions[*found.index];
  const std::string_view recorded = json::string_at(look.set, {"status", "currentRevision"});
  const auto at = std::find_if(look.revisions.begin(), look.revisions.end(),
                               [&](const Revision& revision) { return revision.name() == recorded; });
  look.current = at == look.revisions.end() ? look.update : &*at;
  return true;
}

// Claims have no reference to their set unless the policy asks for it; their names tell.
void sets_of_claim(const client::ObjectChange& change, const View& view, const client::KeySink& sink) {
  const api::ObjectName& claim = change.now.header->name;
  for (const api::Version& set : view.objects(kStatefulSets).in_namespace(claim.ns))
    if (may_be_claim_of(set.header->name.name, claim.name))
      sink(client::key_of(kStatefulSets, set.header->name), client::WorkQueue::Priority::kNormal);
}

}  // namespace

std::vector<client::WatchRule> StatefulSetController::watches() const {
  return {{.resource = kStatefulSets, .keys = client::itself(kStatefulSets)},
          {.resource = kPods, .keys = its_owners(kStatefulSets, "StatefulSet")},
          {.resource = kControllerRevisions, .keys = its_owners(kStatefulSets, "StatefulSet")},
          {.resource = kPersistentVolumeClaims, .keys = sets_of_claim}};
}

Outcome StatefulSetController::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version object = view.get(kStatefulSets, key.object);
  if (!object) return outcome;
  auto tree = json::parse(*object.json);
  if (!tree) return outcome;
  const Owner owner{kStatefulSets, "StatefulSet", object};
  const auto selector = selector_of(view, kStatefulSets, object);
  Claims revisions = claim(view, kControllerRevisions, owner, *selector);
  Claims pods = claim(view, kPods, owner, *selector, [&](const api::Version& pod) {
    return ordinal_of(key.object.name, pod.header->name.name).has_value();
  });
  // Both may ask whether the set still exists; the question is one.
  outcome.allowed_now = std::move(revisions.actions.empty() ? pods.actions : revisions.actions);
  if (!outcome.allowed_now.empty()) return outcome;

  Look look{.view = view,
            .owner = owner,
            .set = std::move(*tree),
            .spec = {},
            .min_ready = {},
            .members = {},
            .revisions = {}};
  look.spec = read_spec(look.set);
  look.min_ready = std::chrono::seconds(json::integer_at(look.set, {"spec", "minReadySeconds"}));
  look.revisions = read_revisions(view, std::move(revisions.held));
  for (api::Version& pod : pods.held) {
    const auto ordinal = ordinal_of(key.object.name, pod.header->name.name);
    auto facts = pod_facts(view, pod);
    if (ordinal) look.members[*ordinal] = {std::move(pod), std::move(facts)};
  }
  if (!find_revisions(look, outcome)) {
    if (is_terminating(object)) outcome.allowed_now.clear();
    return outcome;
  }
  if (!is_terminating(object)) act(look, outcome);
  write_status(look, outcome);
  return outcome;
}

}  // namespace gangway::controllers
