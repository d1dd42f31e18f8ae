// Jobs and pods as a server would list them, for tests.
#pragma once

#include <chrono>
#include <string>

#include "cli/arena/job_view.h"
#include "json/value.h"

namespace gangway::cli::arena {

inline const WallTime kNow = *parse_rfc3339("2026-01-01T12:00:00Z");

inline json::Value from(std::string_view text) {
  return *json::parse(text);
}

// An MPIJob as arena submits it, created `ago`.
inline json::Value an_mpi_job(const std::string& name, int workers, Duration ago, const std::string& status = "{}") {
  json::Value job = from(R"({"apiVersion":"kubeflow.org/v1alpha1","kind":"MPIJob",
    "metadata":{"namespace":"default","uid":"u-1","labels":{"app":"mpijob"}},
    "spec":{"template":{"spec":{"priorityClassName":"medium","containers":[
      {"name":"mpi","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}}})");
  json::object_at(job, {"metadata"})["name"] = name;
  json::object_at(job, {"metadata"})["creationTimestamp"] = to_rfc3339(kNow - ago);
  json::object_at(job, {"spec"})["replicas"] = workers;
  job.as_object()["status"] = from(status);
  return job;
}

inline json::Value a_pytorch_job(const std::string& name, int workers, Duration ago, const std::string& status = "{}") {
  json::Value job = from(R"({"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob",
    "metadata":{"namespace":"default","uid":"u-2"},
    "spec":{"pytorchReplicaSpecs":{
      "Worker":{"template":{"spec":{"priorityClassName":"medium","containers":[
        {"name":"pytorch","resources":{"limits":{"nvidia.com/gpu":"4"}}}]}}},
      "Master":{"replicas":1,"template":{"spec":{"containers":[
        {"name":"pytorch","resources":{"limits":{"nvidia.com/gpu":"4"}}}]}}}}}})");
  json::object_at(job, {"metadata"})["name"] = name;
  json::object_at(job, {"metadata"})["creationTimestamp"] = to_rfc3339(kNow - ago);
  json::object_at(job, {"spec", "pytorchReplicaSpecs", "Worker"})["replicas"] = workers;
  job.as_object()["status"] = from(status);
  return job;
}

struct PodOf {
  std::string operator_name = "pytorchjob-controller";  // "mpi" for the old MPIJobs
  std::string job;
  std::string role;
  std::string pod;
  std::string phase = "Running";
  std::string address = "192.168.0.23";
  int gpus = 1;
  Duration ago = std::chrono::seconds(58);
};

inline json::Value a_pod(const PodOf& of) {
  json::Value pod =
      from(R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default"},"spec":{},"status":{}})");
  json::Object& metadata = json::object_at(pod, {"metadata"});
  metadata["name"] = of.pod;
  metadata["uid"] = "uid-" + of.pod;
  metadata["creationTimestamp"] = to_rfc3339(kNow - of.ago);
  if (of.operator_name == "mpi") {
    metadata["labels"] = json::Object{{"mpi_job_name", of.job}, {"mpi_role_type", of.role}};
  } else {
    metadata["labels"] = json::Object{{"training.kubeflow.org/operator-name", of.operator_name},
                                      {"training.kubeflow.org/job-name", of.job},
                                      {"training.kubeflow.org/replica-type", of.role}};
  }
  const bool is_bound = of.phase != "Pending";
  json::Object& spec = json::object_at(pod, {"spec"});
  if (is_bound) spec["nodeName"] = "node-" + of.address;
  json::Object container{{"name", "c"}};
  if (of.gpus > 0) {
    const json::Object amounts{{"nvidia.com/gpu", std::to_string(of.gpus)}};
    container["resources"] = json::Object{{"requests", amounts}, {"limits", amounts}};
  }
  spec["containers"] = json::Array{container};
  json::Object& status = json::object_at(pod, {"status"});
  status["phase"] = of.phase;
  if (is_bound) status["hostIP"] = of.address;
  if (!is_bound)
    status["conditions"] =
        json::Array{json::Object{{"type", "PodScheduled"},
                                 {"status", "False"},
                                 {"reason", "Unschedulable"},
                                 {"message", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}}};
  return pod;
}

inline std::vector<JobView> views(json::Value job, std::vector<json::Value> pods, std::vector<json::Value> events = {},
                                  std::vector<json::Value> requeued = {}) {
  ReadObjects objects;
  objects.jobs.push_back({{"kubeflow.org", "v1", "jobs"}, {std::move(job)}});
  objects.pods = std::move(pods);
  objects.events = std::move(events);
  objects.requeued_pods = std::move(requeued);
  return view_jobs(std::move(objects), kNow);
}

}  // namespace gangway::cli::arena
