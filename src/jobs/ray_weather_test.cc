// RayJobs and RayClusters together, on an API that refuses writes, loses answers and breaks off watches: whatever is
// suspended and resumed meanwhile, two attempts never run at once, and the job comes to its end.
#include <gtest/gtest.h>

#include <set>

#include "jobs/ray_cluster_controller.h"
#include "jobs/ray_dashboard.h"
#include "jobs/ray_job_controller.h"
#include "jobs/test_ray.h"

namespace gangway::jobs {
namespace {

using client::resources::kJobs;
using client::resources::kNodes;
using client::resources::kPodGroups;
using client::resources::kPods;
using namespace std::chrono_literals;

struct World {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  client::Mirror mirror{api, loop};
  RayJobController jobs;
  RayClusterController clusters;
  RayDashboard silent{loop, nullptr};
  client::Controller job_controller{api, loop, mirror, jobs, {.name = "rayjob-controller"}, &silent};
  client::Controller cluster_controller{api, loop, mirror, clusters, {.name = "raycluster-controller"}};
  bool lets_programs_end = false;

  explicit World(unsigned seed) {
    api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"});
    api.create(kNodes, testing::an_object("v1", "Node", "", "n")
                           .with(R"({"status":{"nodeInfo":{"containerRuntimeVersion":"simulated://1"}}})"));
    api.create(ray_jobs(), a_ray_job(R"({"shutdownAfterJobFinishes":true})"));
    api.set_weather({.refused = 150, .lost = 150, .broken_watches = 50, .seed = seed});
    job_controller.start();
    cluster_controller.start();
  }

  void patch(const client::Resource& resource, const std::string& name, const std::string& body,
             const std::string& part = "") {
    api.patch(resource, {"default", name}, testing::parsed(body), part);
  }
  std::vector<std::string> names(const client::Resource& resource) const {
    std::vector<std::string> all;
    for (const auto& [name, version] : api.objects(resource))
      if (name.ns == "default") all.push_back(name.name);
    return all;
  }
  std::string text(const char* key) const {
    const json::Value job = api.tree(ray_jobs(), {"default", "j"});
    return std::string(json::string_at(job, {"status", key}));
  }

  // What nodes, the Job controller and the garbage collector do.
  void turn() {
    loop.advance(500ms);
    for (const std::string& pod : names(kPods)) {
      const json::Value tree = api.tree(kPods, {"default", pod});
      if (!json::string_at(tree, {"status", "phase"}).empty()) continue;
      patch(kPods, pod, R"({"spec":{"nodeName":"n"}})");
      patch(kPods, pod,
            R"({"status":{"phase":"Running","podIP":"100.64.0.1","conditions":[{"type":"Ready","status":"True"}]}})",
            "status");
    }
    if (api.get(kJobs, {"default", "j"}))
      patch(kJobs, "j",
            lets_programs_end ? R"({"status":{"conditions":[{"type":"Complete","status":"True"}]}})"
                              : R"({"status":{"ready":1}})",
            "status");
    collect();
    check();
  }
  void collect() {
    for (const client::Resource& resource : {ray_clusters(), kJobs}) {
      for (const std::string& name : names(resource)) {
        const api::Version object = api.get(resource, {"default", name});
        if (!object.header->deleting_since) continue;
        bool has_pods = false;
        for (const std::string& pod : names(kPods)) {
          if (api.get(kPods, {"default", pod}).header->owners.at(0).uid != object.header->uid) continue;
          api.remove(kPods, {"default", pod});
          has_pods = true;
        }
        if (!has_pods) patch(resource, name, R"({"metadata":{"finalizers":null}})");
      }
    }
  }
  void check() {
    EXPECT_LE(names(ray_clusters()).size(), 1U);
    std::set<std::string> attempts;
    for (const std::string& pod : names(kPods)) {
      const json::Value tree = api.tree(kPods, {"default", pod});
      attempts.insert(std::string(json::string_at(tree, {"metadata", "annotations", "gangway.dev/attempt"})));
    }
    EXPECT_LE(attempts.size(), 1U);
    EXPECT_LE(names(kPods).size(), 3U);
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) turn();
  }
};

TEST(RayInBadWeather, TwoAttemptsNeverRunAtOnceAndTheLastOneEnds) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    World world(seed);
    for (const int pause : {3, 40, 11, 25, 60}) {
      world.turns(pause);
      world.patch(ray_jobs(), "j", R"({"spec":{"suspend":true}})");
      world.turns(pause / 2);
      world.patch(ray_jobs(), "j", R"({"spec":{"suspend":false}})");
    }
    world.api.set_weather({});
    for (int i = 0; i < 600 && world.text("jobStatus") != "RUNNING"; ++i) world.turn();
    EXPECT_EQ(world.text("jobStatus"), "RUNNING") << seed;
    EXPECT_EQ(world.names(kPods).size(), 3U) << seed;
    world.lets_programs_end = true;
    for (int i = 0; i < 600 && !world.names(ray_clusters()).empty(); ++i) world.turn();
    world.turns(4);
    EXPECT_EQ(world.text("jobDeploymentStatus"), "Complete") << seed;
    EXPECT_TRUE(world.names(kPods).empty()) << seed;
    EXPECT_TRUE(world.names(kPodGroups).empty()) << seed;
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace gangway::jobs
