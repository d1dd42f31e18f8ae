#include "controllers/deployment_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::resources::kDeployments;

struct Judgement {
  const char* type;
  const char* status;
  std::string reason;
  std::string message;
};

constexpr const char* kProgressing = "Progressing";

std::string_view text(const json::Object& condition, std::string_view key) {
  const json::Value* value = condition.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

// The list of conditions under the rules that Deployments have: one that changes moves to the end, and one with the
// same status and reason does not change unless it is renewed.
class Conditions {
 public:
  Conditions(json::Array list, WallTime now) : list_(std::move(list)), now_(to_rfc3339(now)) {}

  const json::Object* find(std::string_view type) const {
    for (const json::Value& item : list_)
      if (item.is_object() && text(item.get_object(), "type") == type) return &item.get_object();
    return nullptr;
  }
  std::string_view reason(std::string_view type) const {
    const json::Object* known = find(type);
    return known == nullptr ? std::string_view() : text(*known, "reason");
  }
  void set(const Judgement& judgement) {
    const json::Object* known = find(judgement.type);
    if (known != nullptr && text(*known, "status") == judgement.status && text(*known, "reason") == judgement.reason)
      return;
    renew(judgement);
  }
  void renew(const Judgement& judgement) {
    const json::Object* known = find(judgement.type);
    const bool same = known != nullptr && text(*known, "status") == judgement.status;
    const std::string since(same ? text(*known, "lastTransitionTime") : std::string_view(now_));
    add({{"type", judgement.type},
         {"status", judgement.status},
         {"lastUpdateTime", now_},
         {"lastTransitionTime", since},
         {"reason", judgement.reason},
         {"message", judgement.message}});
  }
  void add(json::Object condition) {
    remove(text(condition, "type"));
    list_.push_back(std::move(condition));
  }
  void remove(std::string_view type) {
    for (auto* at = list_.begin(); at != list_.end(); ++at) {
      if (!at->is_object() || text(at->get_object(), "type") != type) continue;
      list_.erase(at);
      return;
    }
  }
  const json::Array& list() const { return list_; }

 private:
  json::Array list_;
  std::string now_;
};

DeploymentNumbers recorded(const json::Value& tree) {
  const auto number = [&](const char* key) { return json::integer_at(tree, {"status", key}); };
  return {.replicas = number("replicas"),
          .updated = number("updatedReplicas"),
          .ready = number("readyReplicas"),
          .available = number("availableReplicas"),
          .unavailable = number("unavailableReplicas")};
}

// "ReplicaSet "web-x" is progressing.", or of the Deployment when there is no set yet.
std::string about(const DeploymentLook& look, std::string_view what) {
  const OwnedSet* newest = look.newest_set();
  return newest != nullptr ? fmt::format("ReplicaSet \"{}\" {}", newest->name(), what)
                           : fmt::format("Deployment \"{}\" {}", look.name(), what);
}

void judge_pause(const DeploymentLook& look, Conditions& conditions) {
  const std::string_view reason = conditions.reason(kProgressing);
  if (!look.deadline || reason == "ProgressDeadlineExceeded") return;
  if (look.paused && reason != "DeploymentPaused")
    conditions.set({kProgressing, "Unknown", "DeploymentPaused", "Deployment is paused"});
  if (!look.paused && reason == "DeploymentPaused")
    conditions.set({kProgressing, "Unknown", "DeploymentResumed", "Deployment is resumed"});
}

std::string_view recorded_revision(const DeploymentLook& look) {
  return json::string_at(look.tree, {"metadata", "annotations", annotations::kRevision});
}

// A set that this Deployment made, and has not mentioned yet.
bool is_just_made(const DeploymentLook& look, const OwnedSet& newest) {
  return newest.facts->annotation(annotations::kRevision) != recorded_revision(look) &&
         newest.facts->annotation(annotations::kRevisionHistory).empty() &&
         newest.object.header->created >= look.object.header->created;
}

void notice_new_set(const DeploymentLook& look, Conditions& conditions) {
  const OwnedSet* newest = look.newest_set();
  if (newest == nullptr || !look.deadline) return;
  if (is_just_made(look, *newest)) {
    conditions.set(
        {kProgressing, "True", "NewReplicaSetCreated", fmt::format("Created new replica set \"{}\"", newest->name())});
  } else if (conditions.find(kProgressing) == nullptr) {
    conditions.set(
        {kProgressing, "True", "FoundNewReplicaSet", fmt::format("Found new replica set \"{}\"", newest->name())});
  }
}

void judge_availability(const DeploymentLook& look, const DeploymentNumbers& numbers, Conditions& conditions) {
  const std::int64_t least = look.spec.replicas - (look.spec.rolling ? look.spec.max_unavailable : 0);
  if (numbers.available >= least) {
    conditions.set({"Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."});
  } else {
    conditions.set(
        {"Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."});
  }
}

std::optional<WallTime> last_progress(const Conditions& conditions) {
  const json::Object* known = conditions.find(kProgressing);
  if (known == nullptr) return std::nullopt;
  const auto time = parse_rfc3339(text(*known, "lastUpdateTime"));
  return time ? std::optional<WallTime>(*time) : std::nullopt;
}

bool is_late(const DeploymentLook& look, const Conditions& conditions, WallTime now) {
  const std::string_view reason = conditions.reason(kProgressing);
  if (reason == "NewReplicaSetAvailable") return false;  // that one is through
  if (reason == "ProgressDeadlineExceeded") return true;
  const auto last = last_progress(conditions);
  return last && *last + std::chrono::seconds(*look.deadline) < now;
}

bool has_moved(const DeploymentNumbers& before, const DeploymentNumbers& now) {
  return now.updated > before.updated || now.old() < before.old() || now.ready > before.ready ||
         now.available > before.available;
}

void judge_progress(const DeploymentLook& look, const DeploymentNumbers& numbers, Conditions& conditions, WallTime now,
                    client::Outcome& outcome) {
  if (!look.deadline) return conditions.remove(kProgressing);
  const bool is_old_news =
      numbers.replicas == numbers.updated && conditions.reason(kProgressing) == "NewReplicaSetAvailable";
  if (is_old_news) return;
  if (is_complete(look, numbers)) {
    conditions.set({kProgressing, "True", "NewReplicaSetAvailable", about(look, "has successfully progressed.")});
  } else if (has_moved(recorded(look.tree), numbers)) {
    conditions.renew({kProgressing, "True", "ReplicaSetUpdated", about(look, "is progressing.")});
  } else if (is_late(look, conditions, now)) {
    conditions.set({kProgressing, "False", "ProgressDeadlineExceeded", about(look, "has timed out progressing.")});
  }
  const auto last = last_progress(conditions);
  if (!last || is_complete(look, numbers) || conditions.reason(kProgressing) == "ProgressDeadlineExceeded") return;
  // The moment itself is not late yet, and times are in whole seconds.
  const WallTime when = *last + std::chrono::seconds(*look.deadline + 1);
  if (when > now) outcome.look_again(when);
}

void judge_failure(const DeploymentLook& look, Conditions& conditions) {
  const OwnedSet* newest = look.newest_set();
  const json::Object* failure = newest != nullptr && newest->facts->failure ? &*newest->facts->failure : nullptr;
  for (const OwnedSet& set : look.sets)
    if (failure == nullptr && set.facts->failure) failure = &*set.facts->failure;
  if (failure == nullptr) return conditions.remove("ReplicaFailure");
  const json::Object* known = conditions.find("ReplicaFailure");
  const bool is_known = known != nullptr && text(*known, "status") == text(*failure, "status") &&
                        text(*known, "reason") == text(*failure, "reason");
  if (is_known) return;
  json::Object copied = *failure;
  copied["lastUpdateTime"] = text(*failure, "lastTransitionTime");
  conditions.add(std::move(copied));
}

// The parts of the status that differ from what is there.
json::Object differences(const DeploymentLook& look, const DeploymentNumbers& numbers, const json::Array& conditions) {
  const std::pair<const char*, std::int64_t> wanted[] = {{"replicas", numbers.replicas},
                                                         {"updatedReplicas", numbers.updated},
                                                         {"readyReplicas", numbers.ready},
                                                         {"availableReplicas", numbers.available},
                                                         {"unavailableReplicas", numbers.unavailable},
                                                         {"observedGeneration", look.object.header->generation}};
  json::Object status;
  for (const auto& [key, number] : wanted)
    if (json::integer_at(look.tree, {"status", key}) != number) status[key] = number;
  if (conditions != json::array_at(look.tree, {"status", "conditions"})) status["conditions"] = conditions;
  return status;
}

}  // namespace

DeploymentNumbers count(const DeploymentLook& look) {
  DeploymentNumbers numbers;
  std::int64_t wanted = 0;
  for (const OwnedSet& set : look.sets) {
    wanted += set.facts->size;
    numbers.replicas += set.facts->actual;
    numbers.ready += set.facts->ready;
    numbers.available += set.facts->available;
  }
  if (const OwnedSet* newest = look.newest_set()) numbers.updated = newest->facts->actual;
  numbers.unavailable = std::max<std::int64_t>(0, wanted - numbers.available);
  return numbers;
}

bool is_complete(const DeploymentLook& look, const DeploymentNumbers& numbers) {
  return numbers.updated == look.spec.replicas && numbers.replicas == look.spec.replicas &&
         numbers.available == look.spec.replicas;
}

void write_status(const DeploymentLook& look, const StatusQuestion& question, WallTime now, client::Outcome& outcome) {
  const DeploymentNumbers numbers = count(look);
  Conditions conditions(json::array_at(look.tree, {"status", "conditions"}), now);
  judge_pause(look, conditions);
  notice_new_set(look, conditions);
  judge_availability(look, numbers, conditions);
  if (question.create_error) {
    if (look.deadline) conditions.set({kProgressing, "False", "ReplicaSetCreateError", *question.create_error});
  } else if (question.judge_progress) {
    judge_progress(look, numbers, conditions, now, outcome);
    judge_failure(look, conditions);
  }
  json::Object status = differences(look, numbers, conditions.list());
  json::Object body;
  const OwnedSet* newest = look.newest_set();
  const std::string_view revision =
      newest == nullptr ? std::string_view() : newest->facts->annotation(annotations::kRevision);
  if (!revision.empty() && revision != recorded_revision(look))
    body["metadata"] = json::Object{{"annotations", json::Object{{annotations::kRevision, revision}}}};
  if (status.empty() && body.empty()) return;
  body["status"] = std::move(status);
  outcome.allowed_now.push_back(client::PatchStatus{client::target_of(kDeployments, look.object), std::move(body)});
}

}  // namespace gangway::controllers
