// For the tests of workloads: the Deployment and ReplicaSet controllers at work on one fake cluster, whose kubelet is
// the test.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "api/conditions.h"
#include "client/controller.h"
#include "client/resource.h"
#include "controllers/deployment.h"
#include "controllers/owned.h"
#include "controllers/replica_set.h"
#include "testing/builders.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::controllers {

inline bool is_ready(const api::Version& pod) {
  return api::condition_is_true(testing::parsed(*pod.json), "Ready");
}

// The pod runs and is ready, as of now.
inline void make_ready(testing::FakeApi& api, sys::EventLoop& loop, const api::ObjectName& pod) {
  const std::string now = to_rfc3339(loop.clock().wall());
  json::Value status = json::Object();
  json::object_at(status, {"status"})["phase"] = "Running";
  json::object_at(status, {"status"})["conditions"] =
      json::Array{json::Object{{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", now}}};
  api.patch(client::resources::kPods, pod, status, "status");
}

// "reason: message" of all Events, sorted.
inline std::vector<std::string> event_texts(const testing::FakeApi& api) {
  std::vector<std::string> all;
  for (const auto& [name, version] : api.objects(client::resources::kEvents)) {
    const json::Value event = testing::parsed(*version.json);
    all.push_back(std::string(json::string_at(event, {"reason"})) + ": " +
                  std::string(json::string_at(event, {"message"})));
  }
  std::sort(all.begin(), all.end());
  return all;
}

struct WorkloadCluster {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  client::Mirror mirror;
  LiveOwner live{api};
  DeploymentController deployments;
  ReplicaSetController replica_sets;
  client::Controller deployment_controller{
      api, loop, mirror, deployments, {.name = "deployment-controller", .restless_looks = 64}, &live};
  client::Controller set_controller{
      api, loop, mirror, replica_sets, {.name = "replicaset-controller", .restless_looks = 64}, &live};

  explicit WorkloadCluster(std::uint64_t seed = 0) : mirror(api, loop, seed) {}

  void start(bool with_sets = true) {
    deployment_controller.start();
    if (with_sets) set_controller.start();
    loop.run_until_idle();
  }
  // One pod that is not ready becomes so; false when all are.
  bool make_one_ready() {
    for (const auto& [name, pod] : api.objects(client::resources::kPods)) {
      if (pod.header->deleting_since || is_ready(pod)) continue;
      make_ready(api, loop, api::ObjectName(name));
      return true;
    }
    return false;
  }
  void make_all_ready() {
    for (int i = 0; i < 1000 && make_one_ready(); ++i) loop.run_until_idle();
  }
};

}  // namespace gangway::controllers
