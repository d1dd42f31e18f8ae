// For the tests of this folder: jobs from a line of JSON, and a controller at work on a fake cluster whose nodes and
// scheduler are the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "api/kubeflow.h"
#include "client/resource.h"
#include "jobs/kubeflow_controller.h"
#include "jobs/mpi_controller.h"
#include "testing/builders.h"
#include "testing/controller_bench.h"

namespace gangway::jobs {

inline json::Value merged(json::Value into, const json::Value& from) {
  if (!into.is_object() || !from.is_object()) return from;
  for (const auto& [key, value] : from.get_object()) {
    json::Value& place = into.get_object()[key];
    place = merged(place, value);
  }
  return into;
}

// One type of replicas whose pods have the kind's container.
inline json::Value a_replica(const api::KubeflowKind& kind, int replicas, const std::string& restart = "") {
  json::Value pod = json::Object{
      {"spec", json::Object{{"containers", json::Array{json::Object{{"name", kind.container}, {"image", "i"}}}}}}};
  json::Object spec{{"replicas", replicas}, {"template", std::move(pod)}};
  if (!restart.empty()) spec["restartPolicy"] = restart;
  return spec;
}

struct Replicas {
  std::string type;
  int count = 1;
  std::string restart = {};
};

// A job "j" in "default" of these replicas, with `rest` merged into it.
inline json::Value a_job(const KubeflowRules& rules, const std::vector<Replicas>& replicas,
                         const std::string& rest = "{}") {
  json::Object specs;
  for (const Replicas& each : replicas) specs[each.type] = a_replica(rules.kind, each.count, each.restart);
  json::Value job = testing::an_object("kubeflow.org/v1", rules.kind.kind, "default", "j").json();
  json::object_at(job, {"spec"})[rules.kind.replica_specs] = std::move(specs);
  if (rules.launcher != nullptr) json::object_at(job, {"spec"})["mpiImplementation"] = "OpenMPI";
  return merged(std::move(job), testing::parsed(rest));
}

inline api::Version version_of(const json::Value& object) {
  auto header = std::make_shared<api::Header>();
  header->name = {"default", "j"};
  header->uid = "uid-j";
  return {std::move(header), std::make_shared<const std::string>(json::serialize(object))};
}

inline KubeflowJob read_job(const KubeflowRules& rules, const json::Value& tree) {
  return {rules, version_of(tree), tree};
}

// "NAME=value" of a container, in order.
inline std::vector<std::string> variables_of(const json::Value& container) {
  std::vector<std::string> all;
  for (const json::Value& variable : json::array_at(container, {"env"}))
    all.push_back(std::string(json::string_at(variable, {"name"})) + "=" +
                  std::string(json::string_at(variable, {"value"})));
  return all;
}

// A key that is always the same.
struct KnownKey final : client::ProbeRunner {
  sys::EventLoop& loop;

  explicit KnownKey(sys::EventLoop& its_loop) : loop(its_loop) {}
  void ask(const client::Probe&, sys::Completion<json::Value> done) override {
    loop.post([done = std::move(done)] { done(json::Value(json::Object{{"private", "PEM"}, {"public", "line"}})); });
  }
};

struct JobsBench : testing::ControllerBench {
  const KubeflowRules& rules;
  std::unique_ptr<client::Reconciler> reconciler;
  KnownKey keys{loop};

  explicit JobsBench(const KubeflowRules& its_rules) : rules(its_rules) {
    if (rules.kind.kind == "MPIJob") {
      reconciler = std::make_unique<MpiController>();
    } else {
      reconciler = std::make_unique<KubeflowController>(its_rules);
    }
    api.set_selectable_fields(client::resources::kPods, {"spec.nodeName", "status.phase"});
  }
  void start(const json::Value& job) {
    api.create(rules.resource, job);
    ControllerBench::start(*reconciler, &keys);
  }

  json::Value job() const { return api.tree(rules.resource, {"default", "j"}); }
  void patch_job(const std::string& patch, const std::string& subresource = "") {
    api.patch(rules.resource, {"default", "j"}, testing::parsed(patch), subresource);
    loop.run_until_idle();
  }
  json::Value get(const client::Resource& resource, const std::string& name) const {
    return api.tree(resource, {"default", name});
  }
  json::Value pod(const std::string& name) const { return get(client::resources::kPods, name); }
  json::Value group() const { return api.tree(client::resources::kPodGroups, {"default", "j"}); }

  // "Created !Running Failed": the conditions in order.
  std::string conditions() const {
    std::string all;
    const json::Value tree = job();
    for (const json::Value& condition : json::array_at(tree, {"status", "conditions"})) {
      if (!all.empty()) all += ' ';
      if (json::string_at(condition, {"status"}) == "False") all += '!';
      all += json::string_at(condition, {"type"});
    }
    return all;
  }
  std::string message() const {
    const json::Value tree = job();
    const json::Array& all = json::array_at(tree, {"status", "conditions"});
    return all.empty() ? "" : std::string(json::string_at(all.back(), {"message"}));
  }
  std::string reason() const {
    const json::Value tree = job();
    const json::Array& all = json::array_at(tree, {"status", "conditions"});
    return all.empty() ? "" : std::string(json::string_at(all.back(), {"reason"}));
  }
  // "active/succeeded/failed" of a type.
  std::string counts(const std::string& type) const {
    std::string all;
    const json::Value tree = job();
    for (const char* key : {"active", "succeeded", "failed"})
      all +=
          (all.empty() ? "" : "/") + std::to_string(json::integer_at(tree, {"status", "replicaStatuses", type, key}));
    return all;
  }
  std::int64_t own(const char* key) const {
    const json::Value tree = job();
    return json::integer_at(tree, {"status", "gangway", key});
  }

  std::vector<std::string> names(const client::Resource& resource) const {
    std::vector<std::string> all;
    for (const auto& [name, version] : api.objects(resource)) all.push_back(name.name);
    return all;
  }
  std::vector<std::string> pods() const { return names(client::resources::kPods); }
  std::vector<std::string> services() const { return names(client::resources::kServices); }
  std::string uid(const std::string& name) const {
    return api.get(client::resources::kPods, {"default", name}).header->uid;
  }

  // What a node and a scheduler do.
  void set_pod(const std::string& name, const std::string& patch, const std::string& subresource = "status") {
    api.patch(client::resources::kPods, {"default", name}, testing::parsed(patch), subresource);
    loop.run_until_idle();
  }
  void run(const std::string& name) {
    api.patch(client::resources::kPods, {"default", name}, testing::parsed(R"({"spec":{"nodeName":"n"}})"));
    set_pod(name, R"({"status":{"phase":"Running"}})");
  }
  void run_all() {
    for (const std::string& name : pods()) run(name);
  }
  void end_pod(const std::string& name, int code) {
    set_pod(name, R"({"status":{"phase":")" + std::string(code == 0 ? "Succeeded" : "Failed") +
                      R"(","containerStatuses":[{"name":")" + std::string(rules.kind.container) +
                      R"(","state":{"terminated":{"exitCode":)" + std::to_string(code) + "}}}]}}");
  }
  // It is told to end, and goes on until end_deletion().
  void begin_deletion(const std::string& name, bool preempted) {
    if (preempted)
      api.patch(client::resources::kPods, {"default", name}, testing::parsed(R"({"status":{"conditions":[
          {"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}]}})"),
                "status");
    api.patch(client::resources::kPods, {"default", name},
              testing::parsed(R"({"metadata":{"finalizers":["test/x"]}})"));
    api.remove(client::resources::kPods, {"default", name});
    loop.run_until_idle();
  }
  void end_deletion(const std::string& name) { set_pod(name, R"({"metadata":{"finalizers":null}})", ""); }

  bool has_event(const std::string& reason, const std::string& text = "") const {
    const auto& events = api.objects(client::resources::kEvents);
    return std::any_of(events.begin(), events.end(), [&](const auto& entry) {
      const json::Value event = testing::parsed(*entry.second.json);
      return json::string_at(event, {"reason"}) == reason &&
             json::string_at(event, {"message"}).find(text) != std::string_view::npos;
    });
  }
};

}  // namespace gangway::jobs
