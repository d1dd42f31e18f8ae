// Workload of Kueue: the rules that its schema cannot say.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/conditions.h"
#include "api/convert/kueue.h"
#include "api/topology_assignment.h"
#include "apiserver/strategies/kueue.h"
#include "apiserver/strategies/labels.h"
#include "apiserver/strategies/pod_spec.h"
#include "apiserver/strategies/strategies.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kWhileReserved = "cannot be changed while quota is reserved";

bool has_condition(const Field& workload, std::string_view type) {
  return workload && api::condition_is_true(*workload.value(), type);
}

bool is_reserved(const Field& workload) {
  return has_condition(workload, "QuotaReserved");
}

void keep(const Field& now, const Field& before, std::string_view why = kWhileReserved) {
  if (!now.same_as(before)) now.forbidden(why);
}

// The pod sets by name, with how many pods they have.
std::map<std::string_view, std::int64_t> set_sizes(const Field& workload) {
  std::map<std::string_view, std::int64_t> sizes;
  for (const auto& set : workload["spec"]["podSets"].items()) sizes[set["name"].text()] = set["count"].integer_or(1);
  return sizes;
}

void check_known_set(const Field& name, const std::map<std::string_view, std::int64_t>& sizes) {
  if (!sizes.contains(name.text())) name.invalid("is not the name of a pod set");
}

// ── what is asked for ──

void check_containers_of(const Field& containers) {
  for (const auto& container : containers.items()) {
    const auto pods = container["resources"]["requests"].key("pods");
    if (pods) pods.forbidden("pods are counted by their queue");
  }
}

void check_pod_set(const Field& set) {
  const auto least = set["minCount"];
  if (least && least.integer_or(0) > set["count"].integer_or(1))
    least.invalid(fmt::format("must not be more than count ({})", set["count"].integer_or(1)));
  const auto spec = set["template"]["spec"];
  if (spec["containers"].empty()) spec["containers"].required("a pod has at least one");
  check_containers_of(spec["initContainers"]);
  check_containers_of(spec["containers"]);
  check_template_metadata(set["template"]);
}

void check_class(const Field& spec) {
  const auto reference = spec["priorityClassRef"];
  if (!reference) return;
  if (!spec["priority"]) spec["priority"].required("a workload with a priority class has the value of that");
  const bool is_own = reference["group"].text() == api::kKueueGroup;
  const std::string_view kind = is_own ? "WorkloadPriorityClass" : "PriorityClass";
  if (reference["kind"].text() != kind)
    reference["kind"].invalid(fmt::format("must be {} in the group {}", kind, reference["group"].text()));
}

void check_spec(const Field& spec) {
  std::int64_t shrinking = 0;
  for (const auto& set : spec["podSets"].items()) {
    check_pod_set(set);
    if (set["minCount"]) ++shrinking;
  }
  if (shrinking > 1) spec["podSets"].invalid(json::Value(shrinking), "at most one of them can have a minCount");
  check_class(spec);
}

// ── what must stay ──

void check_same_sets(const Field& sets, const Field& before) {
  if (sets.size() != before.size()) return sets.forbidden(kWhileReserved);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (auto key : {"name", "template", "minCount", "topologyRequest"}) keep(sets.at(i)[key], before.at(i)[key]);
  }
}

void check_same_class(const Field& now, const Field& before) {
  if (now.exists() != before.exists()) return now.forbidden(kWhileReserved);
  keep(now["group"], before["group"]);
  keep(now["kind"], before["kind"]);
  if (before["group"].text() != api::kKueueGroup) keep(now["name"], before["name"]);
}

void check_update_of_spec(const Field& workload, const Field& before) {
  const auto spec = workload["spec"];
  const auto old = before["spec"];
  if (is_reserved(before)) {
    check_same_sets(spec["podSets"], old["podSets"]);
    check_same_class(spec["priorityClassRef"], old["priorityClassRef"]);
    if (is_reserved(workload)) keep(spec["queueName"], old["queueName"]);
  }
  if (has_condition(before, "Admitted") && has_condition(workload, "Admitted"))
    keep(spec["maximumExecutionTimeSeconds"], old["maximumExecutionTimeSeconds"],
         "cannot be changed while the workload is admitted");
}

// ── what is reported ──

void check_one_of_both(const Field& field) {
  if (field["universal"].exists() == field["individual"].exists())
    field.invalid(json::Value(field["universal"] ? "both" : "neither"), "must have universal or individual");
}

void check_slice(const Field& slice, std::size_t levels) {
  const auto domains = slice["domainCount"].integer_or(0);
  const auto check_length = [&](const Field& list) {
    if (list && static_cast<std::int64_t>(list.size()) != domains)
      list.invalid(json::Value(static_cast<std::int64_t>(list.size())),
                   fmt::format("must have one entry for each of the {} domains", domains));
  };
  const auto values = slice["valuesPerLevel"];
  if (values.size() != levels)
    values.invalid(json::Value(static_cast<std::int64_t>(values.size())),
                   fmt::format("must have one entry for each of the {} levels", levels));
  for (const auto& value : values.items()) {
    check_one_of_both(value);
    check_length(value["individual"]["roots"]);
  }
  check_one_of_both(slice["podCounts"]);
  check_length(slice["podCounts"]["individual"]);
}

void check_topology(const Field& assignment) {
  if (!assignment) return;
  std::int64_t domains = 0;
  for (const auto& slice : assignment["slices"].items()) {
    check_slice(slice, assignment["levels"].size());
    domains += slice["domainCount"].integer_or(0);
  }
  if (domains > api::kMostDomains)
    assignment["slices"].invalid(json::Value(domains),
                                 fmt::format("must have no more than {} domains in all", api::kMostDomains));
}

void check_admission(const Field& workload) {
  const auto assignments = workload["status"]["admission"]["podSetAssignments"];
  if (!workload["status"]["admission"]) return;
  const auto sizes = set_sizes(workload);
  if (is_reserved(workload) && assignments.size() != sizes.size())
    assignments.invalid(json::Value(static_cast<std::int64_t>(assignments.size())),
                        fmt::format("must have one entry for each of the {} pod sets", sizes.size()));
  for (const auto& assignment : assignments.items()) {
    check_known_set(assignment["name"], sizes);
    check_topology(assignment["topologyAssignment"]);
  }
}

void check_reclaimable(const Field& workload) {
  const auto sizes = set_sizes(workload);
  for (const auto& pods : workload["status"]["reclaimablePods"].items()) {
    check_known_set(pods["name"], sizes);
    const auto size = sizes.find(pods["name"].text());
    if (size != sizes.end() && pods["count"].integer_or(0) > size->second)
      pods["count"].invalid(fmt::format("must not be more than the pod set has ({})", size->second));
  }
}

void check_checks(const Field& workload) {
  const auto sizes = set_sizes(workload);
  for (const auto& check : workload["status"]["admissionChecks"].items()) {
    for (const auto& update : check["podSetUpdates"].items()) {
      check_known_set(update["name"], sizes);
      check_labels(update["labels"]);
      check_labels(update["nodeSelector"]);
      check_annotations(update["annotations"]);
      check_tolerations(update["tolerations"]);
    }
  }
}

void check_status(const Field& workload) {
  check_admission(workload);
  check_reclaimable(workload);
  check_checks(workload);
  const auto status = workload["status"];
  if (!status["clusterName"].empty() && !status["nominatedClusterNames"].empty())
    status["nominatedClusterNames"].forbidden("clusterName says who took it");
}

// Domains may be chosen later, and again when a node fails.
json::Value without_topology(const Field& admission) {
  auto rest = *admission.value();
  if (auto* list = json::find(rest, {"podSetAssignments"}); list && list->is_array()) {
    for (auto& assignment : list->get_array()) {
      if (!assignment.is_object()) continue;
      for (auto key : {"topologyAssignment", "delayedTopologyRequest"}) assignment.get_object().erase(key);
    }
  }
  return rest;
}

void check_reclaimed_stay(const Field& now, const Field& before) {
  std::map<std::string_view, std::int64_t> counts;
  for (const auto& pods : now.items()) counts[pods["name"].text()] = pods["count"].integer_or(0);
  for (const auto& pods : before.items()) {
    const auto name = pods["name"].text();
    const auto least = pods["count"].integer_or(0);
    const auto at = counts.find(name);
    if (at == counts.end()) {
      now.key(name).required("cannot be taken back while quota is reserved");
    } else if (at->second < least) {
      now.key(name)["count"].invalid(json::Value(at->second), fmt::format("must not be less than it was ({})", least));
    }
  }
}

void check_update_of_status(const Field& workload, const Field& before) {
  const auto status = workload["status"];
  const auto old = before["status"];
  if (status["admission"] && old["admission"] &&
      !json::equal(without_topology(status["admission"]), without_topology(old["admission"])))
    status["admission"].forbidden("can be set and taken back, not changed");
  if (is_reserved(workload) && is_reserved(before))
    check_reclaimed_stay(status["reclaimablePods"], old["reclaimablePods"]);
  if (!status["clusterName"].empty() && !old["clusterName"].empty())
    status["clusterName"].immutable(old["clusterName"]);
}

void check_spec_of(const Field& workload, const Field& before) {
  check_spec(workload["spec"]);
  if (before) check_update_of_spec(workload, before);
}

void check_status_of(const Field& workload, const Field& before) {
  check_status(workload);
  if (before) check_update_of_status(workload, before);
}

void validate_workload(Review& review) {
  check_in_newer_version(review, review.subresource == "status" ? check_status_of : check_spec_of,
                         {{"spec.priorityClassRef.group", "spec.priorityClassSource"},
                          {"spec.priorityClassRef.kind", "spec.priorityClassSource"},
                          {"spec.priorityClassRef.name", "spec.priorityClassName"},
                          {"spec.priorityClassRef", "spec.priorityClassName"},
                          {"topologyAssignment.slices", "topologyAssignment.domains"}});
}

Strategy workload_rules() {
  auto made = custom_resource_strategy();
  made.validate = validate_workload;
  made.versions = &api::workload_versions();
  return made;
}

}  // namespace

const Strategy& workload_strategy() {
  static const Strategy strategy = workload_rules();
  return strategy;
}

}  // namespace gangway::apiserver
