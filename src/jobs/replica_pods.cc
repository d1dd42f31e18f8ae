#include "jobs/replica_pods.h"

#include <algorithm>
#include <utility>

#include "api/conditions.h"
#include "api/gang.h"
#include "api/owner.h"
#include "client/resource.h"
#include "jobs/launcher_job.h"
#include "jobs/pod_environment.h"

namespace gangway::jobs {
namespace {

using client::resources::kPods;

void read_containers(const json::Value& pod, ReplicaPodFacts& facts) {
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const json::Value& status : json::array_at(pod, {"status", list})) {
      facts.restarts += json::integer_at(status, {"restartCount"});
      if (json::find(status, {"state", "terminated"}) == nullptr) continue;
      facts.exits.push_back({std::string(json::string_at(status, {"name"})),
                             json::integer_at(status, {"state", "terminated", "exitCode"})});
    }
  }
}

void add_port(const KubeflowJob& job, json::Value& pod) {
  if (job.rules.kind.port_name.empty()) return;
  json::Value* spec = json::find(pod, {"spec"});
  json::Value* container = spec == nullptr ? nullptr : main_container(*spec, job.rules.kind);
  if (container == nullptr || !container->is_object()) return;
  json::Value& ports = container->get_object()["ports"];
  if (!ports.is_array()) ports = json::Array();
  json::Array& list = ports.get_array();
  const bool is_given = std::any_of(list.begin(), list.end(), [&](const json::Value& port) {
    return json::string_at(port, {"name"}) == job.rules.kind.port_name;
  });
  if (!is_given)
    list.push_back(json::Object{{"name", job.rules.kind.port_name}, {"containerPort", job.rules.kind.port}});
}

void add_labels(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index, json::Value& pod) {
  json::Object& labels = json::object_at(pod, {"metadata", "labels"});
  for (const auto& [key, value] : replica_labels(job, spec, index)) labels[key] = value;
  if (job.is_chief(spec, index) && job.rules.kind.role_label != api::kJobRoleLabel)
    labels[api::kJobRoleLabel] = "master";
  if (!job.is_gang) return;
  labels[api::kPodGroupLabel] = job.name();
  if (job.launches_late && spec.type == api::kLauncher) labels[api::kLateMemberLabel] = spec.role;
}

void add_annotations(const KubeflowJob& job, json::Value& pod) {
  // A pod that belongs to no group says itself what is to become of it.
  json::Object annotations = job.is_gang ? json::Object() : gang_annotations(job.tree, false);
  if (job.record.attempt > 1) annotations[api::kAttempt] = std::to_string(job.record.attempt);
  if (annotations.empty()) return;
  json::Object& given = json::object_at(pod, {"metadata", "annotations"});
  for (const auto& [key, value] : annotations) given[key] = value;
}

}  // namespace

ReplicaPodFacts read_replica_pod(const api::Version& version) {
  ReplicaPodFacts facts;
  const auto tree = json::parse(*version.json);
  if (!tree) return facts;
  const controllers::PodFacts pod = controllers::read_pod(version);
  facts.phase = pod.phase;
  facts.is_ready = pod.ready;
  facts.reason = json::string_at(*tree, {"status", "reason"});
  facts.message = json::string_at(*tree, {"status", "message"});
  facts.attempt = attempt_of(*tree);
  if (const json::Object* condition = api::find_condition(*tree, "DisruptionTarget")) {
    const json::Value disruption(*condition);
    facts.is_disrupted = json::string_at(disruption, {"status"}) == "True" &&
                         json::string_at(disruption, {"reason"}) == "PreemptionByScheduler";
  }
  read_containers(*tree, facts);
  return facts;
}

std::vector<ReplicaPod> pods_of(const KubeflowJob& job, const client::View& view) {
  std::vector<ReplicaPod> pods;
  const client::ObjectCache& cache = view.objects(kPods);
  const auto add_pods_of = [&](const std::string& uid) {
    cache.for_each_owned_by(uid, [&](const api::Version& version) {
      if (!api::is_controlled_by(*version.header, uid)) return;
      ReplicaPod pod{version, cache.facts(version, read_replica_pod)};
      pod.spec = job.find_role(version.header->label(job.rules.kind.role_label));
      if (pod.spec != nullptr) pod.index = replica_index(job, *pod.spec, *version.header);
      pods.push_back(std::move(pod));
    });
  };
  add_pods_of(job.version.header->uid);
  const ReplicaSpec* launcher = job.find(api::kLauncher);
  if (launcher == nullptr || !job.is_by_job(*launcher)) return pods;
  const LauncherJob maker = read_launcher_job(view, job.owner(), job.pod_name(*launcher, 0));
  if (maker.object) add_pods_of(maker.object.header->uid);
  return pods;
}

std::vector<std::string> running_pods(const KubeflowJob& job, const std::vector<ReplicaPod>& pods,
                                      std::string_view type) {
  std::vector<std::string> names;
  for (const ReplicaPod& pod : pods)
    if (has_a_part(job, pod) && pod.spec->type == type && pod.is_running() && !pod.is_terminating())
      names.push_back(pod.header().name.name);
  return names;
}

bool are_enough_ready(const KubeflowJob& job, const std::vector<ReplicaPod>& pods, const ReplicaSpec& spec) {
  const bool is_elastic = job.is_gang && job.elastic && spec.type == api::kWorker;
  const std::int64_t enough = is_elastic ? std::min(job.elastic->minimum, spec.replicas) : spec.replicas;
  return enough <= std::count_if(pods.begin(), pods.end(), [&](const ReplicaPod& pod) {
           return has_a_part(job, pod) && pod.spec == &spec && pod.is_running() && pod.facts->is_ready &&
                  !pod.is_terminating();
         });
}

bool has_a_part(const KubeflowJob& job, const ReplicaPod& pod) {
  return pod.facts->attempt == job.record.attempt && pod.spec != nullptr && pod.index >= 0 &&
         pod.index < pod.spec->replicas;
}

std::optional<std::int64_t> exit_code(const KubeflowJob& job, const ReplicaPod& pod) {
  const json::Value* spec = json::find(pod.spec->pod_template, {"spec"});
  const json::Value* container = spec == nullptr ? nullptr : main_container(*spec, job.rules.kind);
  if (container == nullptr) return std::nullopt;
  for (const ReplicaPodFacts::Exit& exit : pod.facts->exits)
    if (exit.container == json::string_at(*container, {"name"})) return exit.code;
  return std::nullopt;
}

json::Value replica_pod(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index) {
  json::Value pod =
      controllers::pod_from_template(spec.pod_template, {job.ns(), job.pod_name(spec, index)}, job.owner().reference());
  json::object_at(pod, {"metadata"}).erase("generateName");  // its name is its own
  add_labels(job, spec, index, pod);
  add_annotations(job, pod);
  json::object_at(pod, {"spec"})["restartPolicy"] = pod_restart_policy(spec.restart);
  add_port(job, pod);
  job.rules.furnish(job, spec, index, pod);
  add_missing_variables_to_all(pod, job_variables(job.tree, job.record.attempt));
  return pod;
}

json::Value replica_service(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index) {
  json::Value pod = json::Object{{"spec", json::Object()}};
  if (const json::Value* given = json::find(spec.pod_template, {"spec"})) pod.get_object()["spec"] = *given;
  add_port(job, pod);
  json::Array ports;
  if (const json::Value* container = main_container(std::as_const(*json::find(pod, {"spec"})), job.rules.kind)) {
    for (const json::Value& port : json::array_at(*container, {"ports"})) {
      if (json::string_at(port, {"name"}).empty()) continue;
      json::Object entry{{"name", json::string_at(port, {"name"})},
                         {"port", json::integer_at(port, {"containerPort"})}};
      if (const auto protocol = json::string_at(port, {"protocol"}); !protocol.empty()) entry["protocol"] = protocol;
      ports.push_back(std::move(entry));
    }
  }
  const json::Object labels = replica_labels(job, spec, index);
  json::Object metadata{{"name", job.pod_name(spec, index)},
                        {"namespace", job.ns()},
                        {"labels", labels},
                        {"ownerReferences", json::Array{api::to_json(job.owner().reference())}}};
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Service"},
                      {"metadata", std::move(metadata)},
                      {"spec", json::Object{{"clusterIP", "None"}, {"selector", labels}, {"ports", std::move(ports)}}}};
}

}  // namespace gangway::jobs
