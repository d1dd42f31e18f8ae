#include "api/kueue_workload.h"

#include "api/reading.h"

namespace gangway::api {
namespace {

constexpr std::string_view kUsualSet = "main";
constexpr std::pair<std::string_view, CheckState> kStates[] = {{"Pending", CheckState::kPending},
                                                               {"Ready", CheckState::kReady},
                                                               {"Retry", CheckState::kRetry},
                                                               {"Rejected", CheckState::kRejected}};

std::string set_name(const Reading& item) {
  auto name = item["name"].text();
  return name.empty() ? std::string(kUsualSet) : name;
}

// Slices are said as one, or from the largest to the smallest.
std::vector<TopologyRequest::Slice> read_slices(const Reading& request) {
  std::vector<TopologyRequest::Slice> slices;
  for (const auto& item : request["podsetSliceRequiredTopologyConstraints"].items())
    slices.push_back({item["topology"].required_text(), item["size"].integer()});
  if (slices.empty() && request["podSetSliceRequiredTopology"])
    slices.push_back({request["podSetSliceRequiredTopology"].text(), request["podSetSliceSize"].integer()});
  return slices;
}

TopologyRequest read_request(const Reading& field) {
  TopologyRequest request;
  request.required = field["required"].text();
  request.preferred = field["preferred"].text();
  request.unconstrained = field["unconstrained"].flag();
  request.pod_index_label = field["podIndexLabel"].text();
  request.sub_group_index_label = field["subGroupIndexLabel"].text();
  request.sub_group_count = field["subGroupCount"].optional_integer();
  request.group = field["podSetGroupName"].text();
  request.slices = read_slices(field);
  return request;
}

PodSet read_pod_set(const Reading& item) {
  PodSet set;
  set.name = set_name(item);
  if (const auto pods = item["template"]) {
    set.pod_template = *pods.value();
  } else {
    pods.refuse("is missing");
  }
  set.count = item["count"].integer(1);
  set.min_count = item["minCount"].optional_integer();
  if (const auto topology = item["topologyRequest"]) set.topology = read_request(topology);
  return set;
}

void read_spec(const Reading& spec, Workload& workload) {
  for (const auto& item : spec["podSets"].items()) workload.pod_sets.push_back(read_pod_set(item));
  workload.queue = spec["queueName"].text();
  if (const auto reference = spec["priorityClassRef"])
    workload.priority_class = PriorityClassReference{
        reference["group"].required_text(), reference["kind"].required_text(), reference["name"].required_text()};
  workload.priority = spec["priority"].integer();
  workload.active = spec["active"].flag(true);
  workload.maximum_seconds = spec["maximumExecutionTimeSeconds"].optional_integer();
  for (const auto& gate : spec["preemptionGates"].items())
    workload.preemption_gates.push_back(gate["name"].required_text());
}

std::int64_t count_in_spec(const Workload& workload, std::string_view name) {
  for (const auto& set : workload.pod_sets)
    if (set.name == name) return set.count;
  return 0;
}

PodSetAssignment read_assignment(const Reading& item, const Workload& workload) {
  PodSetAssignment assignment;
  assignment.name = set_name(item);
  assignment.flavors = item["flavors"].text_map();
  assignment.usage = item["resourceUsage"].amounts();
  assignment.count = item["count"].integer(count_in_spec(workload, assignment.name));
  if (const auto topology = item["topologyAssignment"]) assignment.topology = read_topology_slices(*topology.value());
  assignment.awaits_topology = item["delayedTopologyRequest"].text() == "Pending";
  return assignment;
}

AdmissionCheckStatus read_check(const Reading& item) {
  AdmissionCheckStatus check;
  check.name = item["name"].required_text();
  check.state =
      item["state"].word(std::span<const std::pair<std::string_view, CheckState>>(kStates), CheckState::kPending);
  check.since = item["lastTransitionTime"].time();
  check.message = item["message"].text();
  check.requeue_after_seconds = item["requeueAfterSeconds"].optional_integer();
  check.retries = item["retryCount"].integer();
  return check;
}

void read_status(const Reading& status, Workload& workload) {
  if (const auto admission = status["admission"]) {
    workload.admission.emplace();
    workload.admission->cluster_queue = admission["clusterQueue"].required_text();
    for (const auto& item : admission["podSetAssignments"].items())
      workload.admission->assignments.push_back(read_assignment(item, workload));
  }
  for (const auto& pods : status["reclaimablePods"].items())
    workload.reclaimable.emplace_back(pods["name"].required_text(), pods["count"].integer());
  for (const auto& item : status["admissionChecks"].items()) workload.checks.push_back(read_check(item));
  for (const auto& gate : status["preemptionGates"].items())
    if (gate["position"].text() == "Open") workload.open_gates.push_back(gate["name"].required_text());
  workload.requeues = status["requeueState"]["count"].integer();
  workload.requeue_at = status["requeueState"]["requeueAt"].time();
  workload.past_seconds = status["accumulatedPastExecutionTimeSeconds"].integer();
  for (const auto& node : status["unhealthyNodes"].items())
    workload.unhealthy_nodes.push_back(node["name"].required_text());
}

}  // namespace

Result<Workload> read_workload(const json::Value& object) {
  Reading::Problems problems;
  const Reading document(object, problems);
  Workload workload;
  workload.ns = document["metadata"]["namespace"].required_text();
  workload.name = document["metadata"]["name"].required_text();
  workload.uid = document["metadata"]["uid"].text();
  workload.created = document["metadata"]["creationTimestamp"].time();
  read_spec(document["spec"], workload);
  read_status(document["status"], workload);
  if (problems.empty()) return workload;
  return problems_of("Workload", object, std::move(problems));
}

}  // namespace gangway::api
