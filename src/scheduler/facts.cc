#include "scheduler/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/conditions.h"
#include "api/gang.h"
#include "api/kubeflow.h"
#include "api/mpi.h"
#include "api/taints.h"
#include "api/training_report.h"
#include "json/access.h"
#include "json/value.h"
#include "scheduler/translate.h"
#include "volumes/claim_facts.h"

namespace gangway::scheduler {
namespace {

constexpr const char* kAnyAddress = "0.0.0.0";
// What kube-scheduler takes a container without requests for, when it compares loads.
constexpr std::int64_t kAssumedCpu = 100;
constexpr std::int64_t kAssumedMemory = 200LL * 1024 * 1024;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

void read_ports(const json::Value& container, std::vector<planning::HostPort>& ports) {
  for (const auto& item : json::array_at(container, {"ports"})) {
    const auto port = json::integer_at(item, {"hostPort"});
    if (port <= 0) continue;
    const auto ip = json::string_at(item, {"hostIP"});
    const auto protocol = json::string_at(item, {"protocol"});
    ports.push_back(
        {std::string(ip.empty() ? kAnyAddress : ip), std::string(protocol.empty() ? "TCP" : protocol), port});
  }
}

std::vector<planning::HostPort> host_ports(const json::Value& spec) {
  std::vector<planning::HostPort> ports;
  for (const auto& container : json::array_at(spec, {"containers"})) read_ports(container, ports);
  for (const auto& container : json::array_at(spec, {"initContainers"}))
    if (api::is_sidecar(container)) read_ports(container, ports);
  return ports;
}

// Annotations were checked when they were written; what cannot be read all the same says nothing.
Wishes read_wishes(const json::Value& object) {
  Wishes wishes;
  const auto annotation = [&](std::string_view key) {
    return json::string_at(object, {"metadata", "annotations", key});
  };
  const auto duration = [&](std::string_view key) -> std::optional<Duration> {
    const auto parsed = parse_duration(annotation(key));
    if (!parsed) return std::nullopt;
    return *parsed;
  };
  const std::string_view on_preempt = annotation(api::kOnPreempt);
  if (on_preempt == "Requeue") wishes.on_preempt = planning::OnPreempt::kRequeue;
  if (on_preempt == "Shrink") wishes.on_preempt = planning::OnPreempt::kShrink;
  wishes.min_runtime = duration(api::kMinRuntime).value_or(Duration::zero());
  wishes.expected_duration = duration(api::kExpectedDuration);
  wishes.max_preemptions = whole_number(annotation(api::kMaxPreemptions));
  if (const auto saved = parse_rfc3339(annotation(api::kLastCheckpoint))) wishes.last_checkpoint = *saved;
  wishes.max_members = whole_number(annotation(api::kMaxMembers)).value_or(0);
  return wishes;
}

// The chief first, then by index; 1 for pods that say nothing.
std::int64_t rank_of(const api::Header& pod) {
  std::string_view role = pod.label(api::kReplicaTypeLabel);
  if (role.empty()) role = pod.label(api::kMpiRoleLabel);
  if (role == "master" || role == "chief" || role == "launcher") return 0;
  // Of a job without one of these, the worker that the others meet at.
  if (pod.label(api::kJobRoleLabel) == "master") return 0;
  for (const std::string_view label :
       {api::kReplicaIndexLabel, std::string_view("batch.kubernetes.io/job-completion-index"),
        std::string_view("apps.kubernetes.io/pod-index")}) {
    if (const auto index = whole_number(pod.label(label))) return *index + (role.empty() ? 0 : 1);
  }
  return 1;
}

void read_condition(const json::Value& pod, PodNeeds& facts) {
  if (const auto* condition = api::find_condition(pod, "PodScheduled")) {
    const json::Value said = *condition;
    if (json::string_at(said, {"status"}) == "False")
      facts.said = fmt::format("{}: {}", json::string_at(said, {"reason"}), json::string_at(said, {"message"}));
  }
  facts.is_disrupted = api::condition_is_true(pod, "DisruptionTarget");
  if (const auto* condition = api::find_condition(pod, api::kCheckpointCondition)) {
    const json::Value saved = *condition;
    if (const auto at = parse_rfc3339(json::string_at(saved, {"lastTransitionTime"}))) facts.saved = *at;
  }
}

bool says_not_ready(const planning::NodeTraits& traits) {
  return std::any_of(traits.taints.begin(), traits.taints.end(), [](const planning::Taint& taint) {
    return taint.key == "node.kubernetes.io/not-ready" || taint.key == "node.kubernetes.io/unreachable";
  });
}

// All but its claims. Requires: the pod has a spec.
PodNeeds read_needs(const json::Value& pod, const api::Header& header) {
  PodNeeds facts;
  const json::Value& spec = *json::find(pod, {"spec"});
  facts.scheduler = json::string_at(spec, {"schedulerName"});
  facts.is_gated = !json::array_at(spec, {"schedulingGates"}).empty();
  facts.priority = json::integer_at(spec, {"priority"});
  facts.never_preempts = json::string_at(spec, {"preemptionPolicy"}) == "Never";
  facts.requests = api::pod_requests(pod);
  facts.requests["pods"] = 1;
  const auto amount = [&](const char* resource, std::int64_t otherwise) {
    const auto at = facts.requests.find(resource);
    return at == facts.requests.end() || at->second == 0 ? otherwise : at->second;
  };
  facts.shape = read_shape(pod, header, facts.namespace_choices);
  facts.shape.load_cpu = amount("cpu", kAssumedCpu);
  facts.shape.load_memory = amount("memory", kAssumedMemory);
  facts.shape.ports = host_ports(spec);
  facts.group = header.label(api::kPodGroupLabel);
  facts.needs_group = !facts.group.empty();
  if (!facts.needs_group) {
    facts.group = header.label(api::kOldPodGroupLabel);
    facts.minimum = whole_number(header.label(kOldMinimumLabel)).value_or(0);
  }
  facts.rank = rank_of(header);
  facts.wishes = read_wishes(pod);
  if (const auto seconds = json::integer_at(spec, {"activeDeadlineSeconds"}); seconds > 0)
    facts.deadline = std::chrono::seconds(seconds);
  if (facts.wishes.expected_duration)
    facts.deadline = std::min(facts.deadline.value_or(Duration::max()), *facts.wishes.expected_duration);
  if (const auto started = parse_rfc3339(json::string_at(pod, {"status", "startTime"}))) facts.started = *started;
  facts.nominated = json::string_at(pod, {"status", "nominatedNodeName"});
  read_condition(pod, facts);
  return facts;
}

planning::Labels labels_of(const json::Value& object) {
  planning::Labels labels;
  for (const auto& [key, value] : json::map_at(object, {"metadata", "labels"}))
    if (value.is_string()) labels.emplace_back(key, value.get_string());
  std::sort(labels.begin(), labels.end());
  return labels;
}

// What cannot be read announces nobody.
std::vector<LateWish> read_late_members(const json::Value& group, const api::Header& header) {
  const std::string_view text = json::string_at(group, {"metadata", "annotations", api::kLateMembers});
  const auto list = text.empty() ? Result<json::Value>(json::Array()) : json::parse(text);
  std::vector<LateWish> all;
  if (!list || !list->is_array()) return all;
  for (const json::Value& one : list->get_array()) {
    const json::Value* pod = json::find(one, {"template"});
    LateWish wish;
    wish.name = json::string_at(one, {"name"});
    wish.count = json::integer_at(one, {"count"}, 1);
    if (pod == nullptr || json::find(*pod, {"spec"}) == nullptr || wish.name.empty()) continue;
    api::Header like;
    like.name.ns = header.name.ns;
    like.labels = labels_of(*pod);
    wish.labels = like.labels;
    wish.needs = read_needs(*pod, like);
    all.push_back(std::move(wish));
  }
  return all;
}

}  // namespace

PodNeeds read_pod(const api::Version& version) {
  const auto tree = json::parse(*version.json);
  if (!tree || json::find(*tree, {"spec"}) == nullptr) return {};
  PodNeeds facts = read_needs(*tree, *version.header);
  facts.claims = volumes::read_pod_claims(version).names;
  return facts;
}

NodeOffer read_node(const api::Version& version) {
  NodeOffer facts;
  const auto tree = json::parse(*version.json);
  if (!tree) return facts;
  facts.allocatable = api::read_amounts(json::find(*tree, {"status", "allocatable"}));
  facts.hostname = version.header->label(planning::kHostnameLabel);
  for (const auto& label : version.header->labels)
    if (label.first != planning::kHostnameLabel) facts.traits.labels.push_back(label);
  for (const api::Taint& taint : api::read_taints(*tree)) facts.traits.taints.push_back(translate(taint));
  facts.traits.is_unschedulable = json::flag_at(*tree, {"spec", "unschedulable"});
  // Until the taint is there that says so, the condition counts.
  if (!api::condition_is_true(*tree, "Ready") && !says_not_ready(facts.traits))
    facts.traits.taints.push_back({"node.kubernetes.io/not-ready", "", planning::Taint::Effect::kNoSchedule});
  return facts;
}

GroupWishes read_group(const api::Version& version) {
  GroupWishes facts;
  const auto tree = json::parse(*version.json);
  if (!tree) return facts;
  facts.min_members = std::max<std::int64_t>(1, json::integer_at(*tree, {"spec", "minMember"}, 1));
  facts.min_resources = api::read_amounts(json::find(*tree, {"spec", "minResources"}));
  facts.late = read_late_members(*tree, *version.header);
  facts.wishes = read_wishes(*tree);
  return facts;
}

BudgetFacts read_budget(const api::Version& version) {
  BudgetFacts facts;
  const auto tree = json::parse(*version.json);
  const auto* selector = tree ? json::find(*tree, {"spec", "selector"}) : nullptr;
  const auto read = selector ? api::read_label_selector(*selector) : Result<api::LabelSelector>(api::LabelSelector());
  if (!selector || !read) {
    facts.selects_nothing = true;
    return facts;
  }
  facts.pods = translate(*read);
  facts.allowed = json::integer_at(*tree, {"status", "disruptionsAllowed"});
  return facts;
}

ClassFacts read_priority_class(const api::Version& version) {
  const auto tree = json::parse(*version.json);
  return {tree ? json::integer_at(*tree, {"value"}) : 0};
}

Limits read_limits(const api::Version& version) {
  Limits limits;
  const auto tree = json::parse(*version.json);
  if (const auto kept = tree ? parse_duration(json::string_at(*tree, {"spec", "usage", "retention"})) : bad_request(""))
    limits.usage_retention = *kept;
  const auto* scheduling = tree ? json::find(*tree, {"spec", "scheduling"}) : nullptr;
  if (!scheduling) return limits;
  if (const auto longest = parse_duration(json::string_at(*scheduling, {"minRuntimeLimit"})))
    limits.min_runtime = *longest;
  limits.max_preemptions = json::integer_at(*scheduling, {"maxPreemptionsLimit"}, limits.max_preemptions);
  limits.top_class = json::string_at(*scheduling, {"topPriorityClass"});
  limits.topology = json::strings_at(*scheduling, {"topology"});
  return limits;
}

}  // namespace gangway::scheduler
