// For the tests of Jobs: a controller at work on a fake cluster, and the hands of a node that ends pods.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "api/conditions.h"
#include "controllers/job.h"
#include "controllers/job_pod.h"
#include "controllers/test_catalog.h"

namespace gangway::controllers {

struct JobBench : Bench {
  JobController reconciler;

  JobBench() { api.set_selectable_fields(client::resources::kPods, {"spec.nodeName", "status.phase"}); }

  // A Job "j" as the server stores it: with its selector, and `spec` merged in.
  void make_job(const std::string& spec = "{}") {
    api.create(client::resources::kJobs, testing::an_object("batch/v1", "Job", "default", "j")
                                             .with(R"({"spec":{"parallelism":1,"completions":1,"backoffLimit":6,
                             "selector":{"matchLabels":{"job":"j"}},
                             "template":{"metadata":{"labels":{"job":"j"}},
                                         "spec":{"restartPolicy":"Never","containers":[{"name":"main"}]}}}})")
                                             .with(R"({"spec":)" + spec + "}"));
  }
  void patch_job(const std::string& patch) {
    api.patch(client::resources::kJobs, {"default", "j"}, testing::parsed(patch));
    loop.run_until_idle();
  }
  json::Value job() const { return api.tree(client::resources::kJobs, {"default", "j"}); }

  std::vector<std::string> pod_names() const {
    std::vector<std::string> names;
    for (const auto& [name, pod] : api.objects(client::resources::kPods)) names.push_back(name.name);
    return names;
  }
  std::vector<std::string> active_pods() const {
    std::vector<std::string> names;
    for (const auto& [name, pod] : api.objects(client::resources::kPods)) {
      const std::string_view phase = pod.header->field("status.phase");
      if (phase != "Succeeded" && phase != "Failed" && !pod.header->deleting_since) names.push_back(name.name);
    }
    return names;
  }
  // The active pod of an index; "" when there is none.
  std::string pod_of(int index) const {
    for (const std::string& name : active_pods()) {
      const json::Value tree = api.tree(client::resources::kPods, {"default", name});
      if (json::string_at(tree, {"metadata", "annotations", kIndexKey}) == std::to_string(index)) return name;
    }
    return "";
  }
  void end_pod(const std::string& name, const std::string& phase, int code) {
    const std::string state = R"({"terminated":{"exitCode":)" + std::to_string(code) + R"(,"finishedAt":")" +
                              to_rfc3339(loop.clock().wall()) + R"("}})";
    api.patch(client::resources::kPods, {"default", name},
              testing::parsed(R"({"status":{"phase":")" + phase + R"(","containerStatuses":[{"name":"main","state":)" +
                              state + "}]}}"),
              "status");
  }
  void succeed(const std::string& name) {
    end_pod(name, "Succeeded", 0);
    loop.run_until_idle();
  }
  void fail(const std::string& name, int code = 1) {
    end_pod(name, "Failed", code);
    loop.run_until_idle();
  }

  std::string text(std::initializer_list<std::string_view> path) const {
    const json::Value tree = job();
    return std::string(json::string_at(tree, path));
  }
  // "active/succeeded/failed"
  std::string counts() const {
    const json::Value tree = job();
    std::string all;
    for (const char* key : {"active", "succeeded", "failed"})
      all += (all.empty() ? "" : "/") + std::to_string(json::integer_at(tree, {"status", key}));
    return all;
  }
  // The types of the conditions that are True, in order, the last one with its reason: "FailureTarget Failed:Reason".
  std::string conditions() const {
    std::string all;
    std::string reason;
    const json::Value tree = job();
    for (const json::Value& condition : json::array_at(tree, {"status", "conditions"})) {
      if (json::string_at(condition, {"status"}) != "True") continue;
      all += (all.empty() ? "" : " ") + std::string(json::string_at(condition, {"type"}));
      reason = json::string_at(condition, {"reason"});
    }
    return reason.empty() ? all : all + ":" + reason;
  }
  std::string message() const {
    const json::Value tree = job();
    const json::Array& all = json::array_at(tree, {"status", "conditions"});
    return all.empty() ? "" : std::string(json::string_at(all.back(), {"message"}));
  }
  std::string uncounted() const {
    const json::Value tree = job();
    const json::Value* lists = json::find(tree, {"status", "uncountedTerminatedPods"});
    return lists == nullptr ? "none" : json::serialize(*lists);
  }
  bool has_event(const std::string& reason) const {
    for (const auto& [name, version] : api.objects(client::resources::kEvents)) {
      const json::Value tree = api.tree(client::resources::kEvents, name);
      if (json::string_at(tree, {"reason"}) == reason) return true;
    }
    return false;
  }
};

struct JobTest : ::testing::Test {
  JobBench bench;
  testing::FakeApi& api = bench.api;

  void start(const std::string& spec = "{}") {
    bench.make_job(spec);
    bench.start(bench.reconciler);
  }
};

}  // namespace gangway::controllers
