// For the tests of Ray's kinds: clusters and jobs from a line of JSON.
#pragma once

#include <string>

#include "jobs/ray_cluster.h"
#include "jobs/ray_job.h"
#include "jobs/test_jobs.h"

namespace gangway::jobs {

// A head and one group "small" of two workers.
inline json::Value a_cluster_spec(const std::string& rest = "{}") {
  return merged(testing::parsed(R"({
    "headGroupSpec":{"template":{"spec":{"containers":[{"name":"ray-head","image":"ray:2"}]}}},
    "workerGroupSpecs":[{"groupName":"small","replicas":2,
      "template":{"spec":{"containers":[{"name":"ray-worker","image":"ray:2"}]}}}]})"),
                testing::parsed(rest));
}

// "r" in "default".
inline json::Value a_ray_cluster(const std::string& spec = "{}", const std::string& rest = "{}") {
  json::Value cluster = testing::an_object("ray.io/v1", "RayCluster", "default", "r").json();
  cluster.as_object()["spec"] = a_cluster_spec(spec);
  return merged(std::move(cluster), testing::parsed(rest));
}

// "j" in "default".
inline json::Value a_ray_job(const std::string& spec = "{}", const std::string& rest = "{}") {
  json::Value job = testing::an_object("ray.io/v1", "RayJob", "default", "j").json();
  job.as_object()["spec"] = merged(
      json::Object{{"entrypoint", "python train.py"}, {"rayClusterSpec", a_cluster_spec()}}, testing::parsed(spec));
  return merged(std::move(job), testing::parsed(rest));
}

inline RayCluster read_cluster(const json::Value& tree) {
  auto header = std::make_shared<api::Header>();
  header->name = {"default", "r"};
  header->uid = "uid-r";
  return {{std::move(header), std::make_shared<const std::string>(json::serialize(tree))}, tree};
}

inline RayJob read_ray_job(const json::Value& tree) {
  return {version_of(tree), tree};
}

}  // namespace gangway::jobs
