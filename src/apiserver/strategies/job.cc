#include <fmt/format.h>

#include <set>

#include "apiserver/strategies/creator.h"
#include "apiserver/strategies/gang_annotations.h"
#include "apiserver/strategies/labels.h"
#include "apiserver/strategies/pod_spec.h"
#include "apiserver/strategies/pod_warnings.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kUidLabel = "batch.kubernetes.io/controller-uid";
constexpr std::string_view kNameLabel = "batch.kubernetes.io/job-name";
constexpr std::string_view kOldUidLabel = "controller-uid";
constexpr std::string_view kOldNameLabel = "job-name";
constexpr std::int64_t kMaxIndexed = 100000;
constexpr std::int64_t kManyCompletions = 100000;
constexpr std::int64_t kMaxForManyCompletions = 10000;
constexpr std::size_t kMaxRules = 20;
constexpr std::size_t kMaxExitCodes = 255;
constexpr std::int64_t kHighestInt32 = 2147483647;

void add_defaults(json::Value& job) {
  auto* found = json::find(job, {"spec"});
  if (!found || !found->is_object()) return;
  auto& spec = found->get_object();
  if (!spec.contains("completions") && !spec.contains("parallelism")) spec["completions"] = 1;
  if (!spec.contains("parallelism")) spec["parallelism"] = 1;
  if (!spec.contains("backoffLimit")) spec["backoffLimit"] = spec.contains("backoffLimitPerIndex") ? kHighestInt32 : 6;
  if (!spec.contains("podReplacementPolicy")) {
    spec["podReplacementPolicy"] = spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed";
  }
  add_template_defaults(job);
  const auto* labels = json::find(job, {"spec", "template", "metadata", "labels"});
  const auto* own = json::find(job, {"metadata", "labels"});
  bool has_own = own && own->is_object() && !own->get_object().empty();
  if (!labels || !labels->is_object() || has_own) return;
  auto copy = *labels;
  json::object_at(job, {"metadata"})["labels"] = std::move(copy);
}

bool selects_by_hand(const json::Value& job) {
  const auto* manual = json::find(job, {"spec", "manualSelector"});
  return manual && manual->is_bool() && manual->get_bool();
}

// Pods are told apart by the uid of their job, which no two jobs share.
void generate_selector(json::Value& job) {
  std::string name(json::string_at(job, {"metadata", "name"}));
  std::string uid(json::string_at(job, {"metadata", "uid"}));
  auto& labels = json::object_at(job, {"spec", "template", "metadata", "labels"});
  for (auto key : {kOldNameLabel, kNameLabel}) {
    if (!labels.contains(key)) labels[key] = name;
  }
  for (auto key : {kOldUidLabel, kUidLabel}) {
    if (!labels.contains(key)) labels[key] = uid;
  }
  auto& selected = json::object_at(job, {"spec", "selector", "matchLabels"});
  if (!selected.contains(kUidLabel)) selected[kUidLabel] = uid;
}

void prepare(Review& review) {
  if (auto* spec = json::find(review.object, {"spec", "template", "spec"})) drop_disabled_fields(*spec);
  if (review.operation != Operation::kCreate) return;
  if (!selects_by_hand(review.object)) generate_selector(review.object);
  // A job without labels has those of its pods.
  const auto* labels = json::find(review.object, {"metadata", "labels"});
  const auto* of_pods = json::find(review.object, {"spec", "template", "metadata", "labels"});
  if ((!labels || labels->as_object().empty()) && of_pods) {
    auto copy = *of_pods;
    json::object_at(review.object, {"metadata"})["labels"] = std::move(copy);
  }
  reset_status(review);
}

void check_generated(const Field& job) {
  auto uid = job["metadata"]["uid"].text();
  auto labels = job["spec"]["template"]["metadata"]["labels"];
  auto must_be = [&](std::string_view key, std::string_view value) {
    auto label = labels.key(key);
    if (label.text() == value) return;
    auto rule = fmt::format("must be '{}'", value);
    label ? label.invalid(*labels.value(), rule) : label.required(rule);
  };
  must_be(kUidLabel, uid);
  must_be(kOldUidLabel, uid);
  must_be(kNameLabel, job["metadata"]["name"].text());
  must_be(kOldNameLabel, job["metadata"]["name"].text());
  auto selector = job["spec"]["selector"];
  auto selected = selector["matchLabels"];
  if (selected.size() == 1 && selected.key(kUidLabel).text() == uid && selector["matchExpressions"].empty()) return;
  selector.refuse("FieldValueInvalid",
                  fmt::format("Invalid value: {}: `selector` not auto-generated", shown_selector(selector)));
}

void check_indexed(const Field& spec) {
  auto completions = spec["completions"];
  auto parallelism = spec["parallelism"];
  auto failed = spec["maxFailedIndexes"];
  if (!completions) completions.required("when completion mode is Indexed");
  if (parallelism.integer_or(0) > kMaxIndexed) {
    parallelism.invalid(fmt::format("must be less than or equal to {} when completion mode is Indexed", kMaxIndexed));
  }
  if (completions && failed.integer_or(0) > completions.integer_or(0)) {
    failed.invalid("must be less than or equal to completions");
  }
  if (failed.integer_or(0) > kMaxIndexed) failed.invalid(fmt::format("must be less than or equal to {}", kMaxIndexed));
  if (completions.integer_or(0) <= kManyCompletions || !spec["backoffLimitPerIndex"]) return;
  if (!failed) failed.required(fmt::format("must be specified when completions is above {}", kManyCompletions));
  for (const auto& field : {parallelism, failed}) {
    if (field.integer_or(0) <= kMaxForManyCompletions) continue;
    field.invalid(
        fmt::format("must be less than or equal to {} when completions are above {} and used with backoff limit "
                    "per index",
                    kMaxForManyCompletions, kManyCompletions));
  }
}

void check_exit_codes(const Field& codes, const std::set<std::string_view>& containers) {
  auto op = codes["operator"];
  if (op.empty()) {
    op.required("valid values: [\"In\" \"NotIn\"]");
  } else {
    op.one_of({"In", "NotIn"});
  }
  auto container = codes["containerName"];
  if (container && !containers.contains(container.text())) {
    container.invalid("must be one of the container or initContainer names in the pod template");
  }
  auto values = codes["values"];
  if (values.empty()) values.refuse("FieldValueInvalid", "Invalid value: []int32{}: at least one value is required");
  if (values.size() > kMaxExitCodes) values.too_many(kMaxExitCodes);
  std::set<std::int64_t> seen;
  std::int64_t last = -kHighestInt32;
  bool ordered = true;
  for (const auto& value : values.items()) {
    auto code = value.integer_or(0);
    if (op.text() == "In" && code == 0) value.invalid("must not be 0 for the In operator");
    if (!seen.insert(code).second) value.duplicate();
    ordered &= code >= last;
    last = code;
  }
  if (!ordered) values.invalid("must be ordered");
}

void check_failure_rule(const Field& spec, const Field& rule, const std::set<std::string_view>& containers) {
  auto action = rule["action"];
  if (action.empty()) {
    action.required("valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
  } else if (action.text() == "FailIndex") {
    if (!spec["backoffLimitPerIndex"]) action.invalid("requires the backoffLimitPerIndex to be set");
  } else {
    action.one_of({"Count", "FailIndex", "FailJob", "Ignore"});
  }
  bool by_code = rule["onExitCodes"].exists();
  bool by_condition = !rule["onPodConditions"].empty();
  if (by_code) check_exit_codes(rule["onExitCodes"], containers);
  if (rule["onPodConditions"].size() > kMaxRules) rule["onPodConditions"].too_many(kMaxRules);
  for (const auto& pattern : rule["onPodConditions"].items()) {
    pattern["type"].invalid_each(names::check_qualified_name(pattern["type"].text()));
    pattern["status"].one_of({"False", "True", "Unknown"});
  }
  if (by_code && by_condition) {
    rule.refuse("FieldValueInvalid", "Invalid value: specifying both OnExitCodes and OnPodConditions is not supported");
  }
  if (!by_code && !by_condition) {
    rule.refuse("FieldValueInvalid", "Invalid value: specifying one of OnExitCodes and OnPodConditions is required");
  }
}

void check_failure_policy(const Field& spec) {
  auto rules = spec["podFailurePolicy"]["rules"];
  if (rules.size() > kMaxRules) rules.too_many(kMaxRules);
  std::set<std::string_view> containers;
  for (auto key : {"containers", "initContainers"}) {
    for (const auto& container : spec["template"]["spec"][key].items()) containers.insert(container["name"].text());
  }
  for (const auto& rule : rules.items()) check_failure_rule(spec, rule, containers);
}

void check_restart_policy(const Field& spec) {
  auto policy = spec["template"]["spec"]["restartPolicy"];
  if (policy.text() == "Always" || policy.empty()) {
    policy.required("valid values: \"OnFailure\", \"Never\"");
  } else if (spec["podFailurePolicy"] && policy.text() == "OnFailure") {
    policy.invalid("only \"Never\" is supported when podFailurePolicy is specified");
  }
}

void check_spec(const Field& spec) {
  if (spec["maxFailedIndexes"] && !spec["backoffLimitPerIndex"]) {
    spec["backoffLimitPerIndex"].required("when maxFailedIndexes is specified");
  }
  spec["completionMode"].one_of({"NonIndexed", "Indexed"});
  if (spec["completionMode"].text() == "Indexed") {
    check_indexed(spec);
  } else {
    for (auto key : {"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"}) {
      if (spec[key]) spec[key].invalid("requires indexed completion mode");
    }
  }
  if (spec["podFailurePolicy"]) check_failure_policy(spec);
  auto replacement = spec["podReplacementPolicy"];
  if (spec["podFailurePolicy"]) {
    replacement.one_of({"Failed"});
  } else {
    replacement.one_of({"Failed", "TerminatingOrFailed"});
  }
  check_template(spec["template"]);
  check_restart_policy(spec);
  if (!spec["selector"]) spec["selector"].required();
  check_selector(spec["selector"]);
  check_selects_template(spec);
}

// The template without what a job that has not started may still be told about where its pods go.
json::Value frozen_template(const Field& pod_template, bool may_be_directed) {
  json::Value frozen = pod_template ? *pod_template.value() : json::Value(json::Object());
  if (!may_be_directed) return frozen;
  for (auto key : {"labels", "annotations"}) json::object_at(frozen, {"metadata"}).erase(key);
  auto& spec = json::object_at(frozen, {"spec"});
  for (auto key : {"nodeSelector", "tolerations", "schedulingGates"}) spec.erase(key);
  if (auto* affinity = json::find(frozen, {"spec", "affinity"}); affinity && affinity->is_object()) {
    affinity->get_object().erase("nodeAffinity");
    if (affinity->get_object().empty()) spec.erase("affinity");
  }
  return frozen;
}

void check_update(const Field& job, const Field& before) {
  auto spec = job["spec"];
  auto old = before["spec"];
  auto completions = spec["completions"];
  if (spec["completionMode"].text() != "Indexed") {
    completions.immutable(old["completions"]);
  } else if (completions && !completions.same_as(old["completions"]) && !completions.same_as(spec["parallelism"])) {
    completions.invalid("can only be modified in tandem with spec.parallelism");
  }
  check_same_selector(spec["selector"], old["selector"]);
  bool waits = old["suspend"].flag() && !before["status"]["startTime"];
  if (!json::equal(frozen_template(spec["template"], waits), frozen_template(old["template"], waits))) {
    spec["template"].invalid("field is immutable");
  }
  check_immutable(spec, old,
                  {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"});
}

void check_pod_names(const Field& job) {
  auto completions = job["spec"]["completions"].integer_or(0);
  if (job["spec"]["completionMode"].text() != "Indexed" || completions <= 0) return;
  auto name = job["metadata"]["name"];
  auto last = fmt::format("{}-{}", name.text(), completions - 1);
  if (!names::check_dns1123_label(last).empty()) {
    name.invalid(fmt::format("will not able to create pod with invalid DNS label: {}", last));
  }
}

void validate(Review& review) {
  auto job = new_object(review);
  if (review.subresource == "status") {
    for (auto key : {"active", "succeeded", "failed", "ready", "terminating"}) job["status"][key].not_negative();
    return;
  }
  if (!review.old && !selects_by_hand(review.object)) check_generated(job);
  check_spec(job["spec"]);
  check_job_annotations(job, old_object(review), false);
  warn_about_template(review);
  if (!review.old) return check_pod_names(job);
  check_update(job, old_object(review));
}

}  // namespace

const Strategy& job_strategy() {
  static const Strategy strategy{
      .add_defaults = add_defaults,
      .admit = admit_with_creator,
      .prepare = prepare,
      .validate = validate,
      .generation = GenerationRule::kSpec,
      .orphans_by_default =
          "child pods are preserved by default when jobs are deleted; set "
          "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
          "this warning"};
  return strategy;
}

}  // namespace gangway::apiserver
