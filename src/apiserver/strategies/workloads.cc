// Deployment, ReplicaSet, StatefulSet and its ControllerRevisions.
#include <fmt/format.h>

#include "apiserver/strategies/creator.h"
#include "apiserver/strategies/labels.h"
#include "apiserver/strategies/pod_spec.h"
#include "apiserver/strategies/pod_warnings.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

void prepare_template(Review& review) {
  if (auto* spec = json::find(review.object, {"spec", "template", "spec"})) drop_disabled_fields(*spec);
}

void check_long_running(const Field& pod_spec, std::string_view kind) {
  if (pod_spec["restartPolicy"].text() != "Always") pod_spec["restartPolicy"].not_supported({"Always"});
  if (pod_spec["activeDeadlineSeconds"]) {
    pod_spec["activeDeadlineSeconds"].forbidden(fmt::format("activeDeadlineSeconds in {} is not Supported", kind));
  }
}

// Nothing is said about the template of a selector that cannot be read.
void check_selector_and_template(const Field& spec) {
  if (!check_workload_selector(spec, {"empty selector is invalid for deployment", "invalid label selector"})) return;
  check_template(spec["template"]);
  check_long_running(spec["template"]["spec"], "ReplicaSet");
}

void add_deployment_defaults(json::Value& deployment) {
  add_template_defaults(deployment);
  if (json::string_at(deployment, {"spec", "strategy", "type"}) != "RollingUpdate") return;
  auto& rolling = json::object_at(deployment, {"spec", "strategy", "rollingUpdate"});
  for (auto key : {"maxUnavailable", "maxSurge"}) {
    if (!rolling.contains(key)) rolling[key] = "25%";
  }
}

void check_update_strategy(const Field& strategy) {
  auto rolling = strategy["rollingUpdate"];
  if (strategy["type"].text() == "Recreate") {
    if (rolling) rolling.forbidden("may not be specified when strategy `type` is 'Recreate'");
    return;
  }
  auto unavailable = rolling["maxUnavailable"];
  check_count_or_percent(unavailable);
  check_count_or_percent(rolling["maxSurge"]);
  if (is_zero_count_or_percent(unavailable) && is_zero_count_or_percent(rolling["maxSurge"])) {
    unavailable.invalid("may not be 0 when `maxSurge` is 0");
  }
  check_at_most_100_percent(unavailable);
}

// None of the counts is negative, and no count of `parts` is above the number of replicas; a missing one is zero.
void check_counts(const Field& status, std::initializer_list<std::string_view> counts,
                  std::initializer_list<std::string_view> parts) {
  for (auto key : counts) status[key].not_negative();
  auto replicas = status["replicas"].integer_or(0);
  auto at_most = [&](std::string_view key, std::int64_t limit, std::string_view what) {
    auto count = status[key].integer_or(0);
    if (count > limit) status[key].invalid(count, fmt::format("cannot be greater than {}", what));
  };
  for (auto key : parts) at_most(key, replicas, "status.replicas");
  if (status["readyReplicas"]) at_most("availableReplicas", status["readyReplicas"].integer_or(0), "readyReplicas");
}

void prepare_deployment(Review& review) {
  prepare_template(review);
  if (review.operation == Operation::kCreate) reset_status(review);
}

void validate_deployment(Review& review) {
  auto object = new_object(review);
  if (review.subresource == "status") {
    return check_counts(object["status"],
                        {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
                         "unavailableReplicas", "collisionCount"},
                        {"updatedReplicas", "readyReplicas", "availableReplicas"});
  }
  auto spec = object["spec"];
  check_selector_and_template(spec);
  warn_about_template(review);
  check_update_strategy(spec["strategy"]);
  auto deadline = spec["progressDeadlineSeconds"];
  if (deadline && deadline.integer_or(0) <= spec["minReadySeconds"].integer_or(0)) {
    deadline.invalid("must be greater than minReadySeconds");
  }
  if (review.old) check_same_selector(spec["selector"], old_object(review)["spec"]["selector"]);
}

void prepare_replica_set(Review& review) {
  prepare_template(review);
  if (review.operation == Operation::kCreate) review.object.as_object()["status"] = json::Object{{"replicas", 0}};
}

void validate_replica_set(Review& review) {
  auto object = new_object(review);
  if (review.subresource == "status") {
    return check_counts(
        object["status"],
        {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"},
        {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"});
  }
  auto spec = object["spec"];
  check_selector_and_template(spec);
  warn_about_template(review);
  if (review.old) check_same_selector(spec["selector"], old_object(review)["spec"]["selector"]);
}

void add_claim_defaults(json::Value& claim) {
  auto& fields = claim.as_object();
  fields["apiVersion"] = "v1";
  fields["kind"] = "PersistentVolumeClaim";
  auto& status = json::object_at(claim, {"status"});
  if (!status.contains("phase")) status["phase"] = "Pending";
  auto& spec = json::object_at(claim, {"spec"});
  if (!spec.contains("volumeMode")) spec["volumeMode"] = "Filesystem";
}

// A partition is shown where the type was left open, or where rollingUpdate was given.
void add_update_strategy_defaults(json::Value& set) {
  if (json::string_at(set, {"spec", "updateStrategy", "type"}).empty()) {
    json::object_at(set, {"spec", "updateStrategy"})["type"] = "RollingUpdate";
    json::object_at(set, {"spec", "updateStrategy", "rollingUpdate"});
  }
  if (json::string_at(set, {"spec", "updateStrategy", "type"}) != "RollingUpdate") return;
  auto* rolling = json::find(set, {"spec", "updateStrategy", "rollingUpdate"});
  if (rolling && rolling->is_object() && !rolling->get_object().contains("partition")) {
    rolling->get_object()["partition"] = 0;
  }
}

void add_stateful_set_defaults(json::Value& set) {
  add_template_defaults(set);
  add_update_strategy_defaults(set);
  auto* claims = json::find(set, {"spec", "volumeClaimTemplates"});
  if (!claims || !claims->is_array()) return;
  for (auto& claim : claims->get_array()) {
    if (claim.is_object()) add_claim_defaults(claim);
  }
}

void prepare_stateful_set(Review& review) {
  prepare_template(review);
  if (review.operation != Operation::kCreate) return;
  review.object.as_object()["status"] = json::Object{{"replicas", 0}, {"availableReplicas", 0}};
}

void check_stateful_update(const Field& strategy) {
  auto type = strategy["type"].text();
  auto rolling = strategy["rollingUpdate"];
  if (type == "RollingUpdate") {
    rolling["partition"].not_negative();
  } else if (type == "OnDelete") {
    if (rolling) rolling.invalid("only allowed for updateStrategy 'RollingUpdate'");
  } else {
    strategy.invalid("must be 'RollingUpdate' or 'OnDelete'");
  }
}

bool only_allowed_changes(const json::Value& now, const json::Value& before) {
  auto frozen = [](const json::Value& object) {
    const auto* spec = json::find(object, {"spec"});
    json::Object fields = spec && spec->is_object() ? spec->get_object() : json::Object();
    for (auto key : {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
                     "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}) {
      fields.erase(key);
    }
    return json::Value(std::move(fields));
  };
  return json::equal(frozen(now), frozen(before));
}

void validate_stateful_set(Review& review) {
  auto object = new_object(review);
  if (review.subresource == "status") {
    return check_counts(object["status"],
                        {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
                         "observedGeneration", "collisionCount"},
                        {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"});
  }
  auto spec = object["spec"];
  auto policy = spec["podManagementPolicy"];
  if (policy && policy.text() != "OrderedReady" && policy.text() != "Parallel") {
    policy.invalid("must be 'OrderedReady' or 'Parallel'");
  }
  check_stateful_update(spec["updateStrategy"]);
  for (auto key : {"whenDeleted", "whenScaled"}) {
    spec["persistentVolumeClaimRetentionPolicy"][key].one_of({"Delete", "Retain"});
  }
  spec["ordinals"]["start"].not_negative();
  if (check_workload_selector(spec, {"empty selector is invalid for statefulset", ""})) {
    // The pods' spec is checked when they are made: only then do the claims' volumes stand in it.
    check_template_metadata(spec["template"]);
  }
  check_long_running(spec["template"]["spec"], "StatefulSet");
  warn_about_template(review);
  auto service = spec["serviceName"];
  if (!review.old && !service.empty()) service.invalid_each(names::check_dns1123_label(service.text()));
  if (review.old && !only_allowed_changes(review.object, *review.old)) {
    spec.forbidden(
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden");
  }
}

void validate_controller_revision(Review& review) {
  auto object = new_object(review);
  if (!object["data"]) object["data"].required("data is mandatory");
  object["revision"].not_negative();
  if (review.old) object["data"].immutable(old_object(review)["data"]);
}

}  // namespace

const Strategy& controller_revision_strategy() {
  static const Strategy strategy{.validate = validate_controller_revision};
  return strategy;
}

const Strategy& deployment_strategy() {
  static const Strategy strategy{.add_defaults = add_deployment_defaults,
                                 .admit = admit_with_creator,
                                 .prepare = prepare_deployment,
                                 .validate = validate_deployment,
                                 .generation = GenerationRule::kSpecOrAnnotations,
                                 .status_keeps = KeptMetadata::kLabels};
  return strategy;
}

const Strategy& replica_set_strategy() {
  static const Strategy strategy{.add_defaults = add_template_defaults,
                                 .admit = admit_with_creator,
                                 .prepare = prepare_replica_set,
                                 .validate = validate_replica_set,
                                 .generation = GenerationRule::kSpec};
  return strategy;
}

const Strategy& stateful_set_strategy() {
  static const Strategy strategy{.add_defaults = add_stateful_set_defaults,
                                 .admit = admit_with_creator,
                                 .prepare = prepare_stateful_set,
                                 .validate = validate_stateful_set,
                                 .generation = GenerationRule::kSpec,
                                 .check_name = names::check_dns1123_label};
  return strategy;
}

}  // namespace gangway::apiserver
