#include "api/kueue.h"

#include "api/reading.h"

namespace gangway::api {
namespace {

template <class T>
using Words = std::pair<std::string_view, T>;

constexpr Words<QueueingStrategy> kStrategies[] = {{"BestEffortFIFO", QueueingStrategy::kBestEffortFifo},
                                                   {"StrictFIFO", QueueingStrategy::kStrictFifo}};
constexpr Words<StopPolicy> kStops[] = {
    {"None", StopPolicy::kNone}, {"Hold", StopPolicy::kHold}, {"HoldAndDrain", StopPolicy::kHoldAndDrain}};
constexpr Words<PreemptionPolicy> kPolicies[] = {
    {"Never", PreemptionPolicy::kNever},
    {"LowerPriority", PreemptionPolicy::kLowerPriority},
    {"LowerOrNewerEqualPriority", PreemptionPolicy::kLowerOrNewerEqualPriority},
    {"Any", PreemptionPolicy::kAny}};
constexpr Words<FungibilityPolicy> kFungibilities[] = {{"MayStopSearch", FungibilityPolicy::kMayStopSearch},
                                                       {"TryNextFlavor", FungibilityPolicy::kTryNextFlavor}};
constexpr Words<FlavorPreference> kPreferences[] = {
    {"BorrowingOverPreemption", FlavorPreference::kBorrowingOverPreemption},
    {"PreemptionOverBorrowing", FlavorPreference::kPreemptionOverBorrowing}};

template <class T, std::size_t N>
T word(const Reading& field, const Words<T> (&words)[N], T otherwise) {
  return field.word(std::span<const Words<T>>(words), otherwise);
}

// Reads an object of one kind: what `fill` makes of it, or all that is wrong with it.
template <class T, class Fill>
Result<T> read_object(std::string_view kind, const json::Value& object, Fill fill) {
  Reading::Problems problems;
  const Reading document(object, problems);
  T made;
  made.name = document["metadata"]["name"].required_text();
  fill(document, made);
  if (problems.empty()) return made;
  return problems_of(kind, object, std::move(problems));
}

QuotaOfResource read_quota(const Reading& field) {
  QuotaOfResource quota;
  quota.name = field["name"].required_text();
  const auto nominal = field["nominalQuota"];
  if (!nominal) nominal.refuse("is missing");
  quota.nominal = nominal.quantity().value_or(Quantity());
  quota.borrowing_limit = field["borrowingLimit"].quantity();
  quota.lending_limit = field["lendingLimit"].quantity();
  return quota;
}

std::vector<ResourceGroup> read_groups(const Reading& field) {
  std::vector<ResourceGroup> groups;
  for (const auto& item : field.items()) {
    ResourceGroup group;
    group.covered = item["coveredResources"].texts();
    for (const auto& each : item["flavors"].items()) {
      QuotaOfFlavor flavor{each["name"].required_text(), {}};
      for (const auto& quota : each["resources"].items()) flavor.resources.push_back(read_quota(quota));
      group.flavors.push_back(std::move(flavor));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

Quantity read_weight(const Reading& spec) {
  return spec["fairSharing"]["weight"].quantity().value_or(Quantity::of(1));
}

LabelSelector read_selector(const Reading& field) {
  if (!field) return LabelSelector::nothing();
  auto selector = read_label_selector(*field.value());
  if (selector) return std::move(*selector);
  field.refuse(selector.error().message);
  return LabelSelector::nothing();
}

void read_policies(const Reading& spec, ClusterQueue& queue) {
  const auto fungibility = spec["flavorFungibility"];
  queue.when_can_borrow = word(fungibility["whenCanBorrow"], kFungibilities, queue.when_can_borrow);
  queue.when_can_preempt = word(fungibility["whenCanPreempt"], kFungibilities, queue.when_can_preempt);
  queue.preference = word(fungibility["preference"], kPreferences, queue.preference);
  const auto preemption = spec["preemption"];
  queue.reclaim_within_cohort = word(preemption["reclaimWithinCohort"], kPolicies, PreemptionPolicy::kNever);
  queue.within_cluster_queue = word(preemption["withinClusterQueue"], kPolicies, PreemptionPolicy::kNever);
  queue.borrow_within_cohort = word(preemption["borrowWithinCohort"]["policy"], kPolicies, PreemptionPolicy::kNever);
  queue.borrow_threshold = preemption["borrowWithinCohort"]["maxPriorityThreshold"].optional_integer();
}

// A flavor has the taints of a node and the tolerations of a pod, under names of its own.
json::Value as_spec(std::string_view key, const Reading& list) {
  json::Object spec;
  if (list) spec[key] = *list.value();
  return json::Object{{"spec", std::move(spec)}};
}

}  // namespace

Result<ClusterQueue> read_cluster_queue(const json::Value& object) {
  return read_object<ClusterQueue>("ClusterQueue", object, [](const Reading& document, ClusterQueue& queue) {
    const auto spec = document["spec"];
    queue.cohort = spec["cohortName"].text();
    queue.groups = read_groups(spec["resourceGroups"]);
    queue.strategy = word(spec["queueingStrategy"], kStrategies, queue.strategy);
    queue.namespaces = read_selector(spec["namespaceSelector"]);
    read_policies(spec, queue);
    for (const auto& check : spec["admissionChecksStrategy"]["admissionChecks"].items())
      queue.checks.push_back({check["name"].required_text(), check["onFlavors"].texts()});
    queue.stop = word(spec["stopPolicy"], kStops, queue.stop);
    queue.weight = read_weight(spec);
    queue.orders_by_usage = spec["admissionScope"]["admissionMode"].text() == "UsageBasedAdmissionFairSharing";
  });
}

Result<LocalQueue> read_local_queue(const json::Value& object) {
  return read_object<LocalQueue>("LocalQueue", object, [](const Reading& document, LocalQueue& queue) {
    queue.ns = document["metadata"]["namespace"].required_text();
    queue.cluster_queue = document["spec"]["clusterQueue"].text();
    queue.stop = word(document["spec"]["stopPolicy"], kStops, queue.stop);
    queue.weight = read_weight(document["spec"]);
  });
}

Result<Cohort> read_cohort(const json::Value& object) {
  return read_object<Cohort>("Cohort", object, [](const Reading& document, Cohort& cohort) {
    cohort.parent = document["spec"]["parentName"].text();
    cohort.groups = read_groups(document["spec"]["resourceGroups"]);
    cohort.weight = read_weight(document["spec"]);
  });
}

Result<ResourceFlavor> read_resource_flavor(const json::Value& object) {
  return read_object<ResourceFlavor>("ResourceFlavor", object, [](const Reading& document, ResourceFlavor& flavor) {
    const auto spec = document["spec"];
    flavor.node_labels = spec["nodeLabels"].text_map();
    flavor.taints = read_taints(as_spec("taints", spec["nodeTaints"]));
    flavor.tolerations = read_tolerations(as_spec("tolerations", spec["tolerations"]));
    flavor.topology = spec["topologyName"].text();
  });
}

Result<WorkloadPriorityClass> read_workload_priority_class(const json::Value& object) {
  return read_object<WorkloadPriorityClass>("WorkloadPriorityClass", object,
                                            [](const Reading& document, WorkloadPriorityClass& made) {
                                              if (!document["value"]) document["value"].refuse("is missing");
                                              made.value = document["value"].integer();
                                            });
}

Result<AdmissionCheck> read_admission_check(const json::Value& object) {
  return read_object<AdmissionCheck>("AdmissionCheck", object, [](const Reading& document, AdmissionCheck& check) {
    check.controller = document["spec"]["controllerName"].required_text();
  });
}

Result<Topology> read_topology(const json::Value& object) {
  return read_object<Topology>("Topology", object, [](const Reading& document, Topology& topology) {
    for (const auto& level : document["spec"]["levels"].items())
      topology.levels.push_back(level["nodeLabel"].required_text());
  });
}

}  // namespace gangway::api
