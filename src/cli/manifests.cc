#include "cli/manifests.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/gang.h"
#include "cli/arena/job_roles.h"
#include "cli/arena/job_type.h"
#include "client/resource.h"
#include "json/yaml.h"

namespace gangway::cli {
namespace {

using namespace client::resources;

// What is placed, by apiVersion and kind.
const std::map<std::pair<std::string, std::string>, client::Resource>& placed_kinds() {
  static const std::map<std::pair<std::string, std::string>, client::Resource> kKinds{
      {{"v1", "Pod"}, kPods},
      {{"batch/v1", "Job"}, kJobs},
      {{"apps/v1", "Deployment"}, kDeployments},
      {{"apps/v1", "ReplicaSet"}, kReplicaSets},
      {{"apps/v1", "StatefulSet"}, kStatefulSets},
      {{"scheduling.x-k8s.io/v1alpha1", "PodGroup"}, {"scheduling.x-k8s.io", "v1alpha1", "podgroups"}},
  };
  return kKinds;
}

Result<void> add(std::vector<Manifest>& manifests, json::Value object, const std::string& ns) {
  if (!object.is_object()) return bad_request("a manifest must be an object");
  Manifest manifest;
  const std::string version(json::string_at(object, {"apiVersion"}));
  manifest.kind = json::string_at(object, {"kind"});
  if (version.empty() || manifest.kind.empty()) return bad_request("a manifest must have an apiVersion and a kind");
  if (manifest.kind == "List") {
    for (const json::Value& item : json::array_at(object, {"items"})) GW_CHECKED(add(manifests, item, ns));
    return {};
  }
  manifest.name = json::string_at(object, {"metadata", "name"});
  manifest.ns = json::string_at(object, {"metadata", "namespace"});
  if (manifest.ns.empty()) manifest.ns = ns;
  if (const auto at = placed_kinds().find({version, manifest.kind}); at != placed_kinds().end())
    manifest.resource = at->second;
  if (const arena::JobKind* job = arena::job_kind(manifest.kind))
    for (const client::Resource& resource : job->resources)
      if (client::api_version(resource) == version) manifest.resource = resource;
  manifest.object = std::move(object);
  manifests.push_back(std::move(manifest));
  return {};
}

json::Value pod_of(const json::Value& workload, const std::string& name) {
  json::Value pod = json::Object{{"apiVersion", "v1"}, {"kind", "Pod"}};
  if (const json::Value* made = json::find(workload, {"spec", "template"})) {
    json::object_at(pod, {"metadata"}) = json::map_at(*made, {"metadata"});
    json::object_at(pod, {"spec"}) = json::map_at(*made, {"spec"});
  }
  json::Object& metadata = json::object_at(pod, {"metadata"});
  metadata["name"] = name;
  metadata["namespace"] = json::string_at(workload, {"metadata", "namespace"});
  metadata.erase("creationTimestamp");
  return pod;
}

void add_label(json::Value& pod, std::string_view key, const std::string& value) {
  json::object_at(pod, {"metadata", "labels"})[key] = value;
}

PodsToBe pods_of_job(const json::Value& job, const std::string& name) {
  PodsToBe result;
  if (json::flag_at(job, {"spec", "suspend"})) {
    result.note = "it is suspended and makes no pods until it is resumed";
    return result;
  }
  const std::int64_t parallelism = json::integer_at(job, {"spec", "parallelism"}, 1);
  const std::int64_t count = std::min(parallelism, json::integer_at(job, {"spec", "completions"}, parallelism));
  const bool is_indexed = json::string_at(job, {"spec", "completionMode"}) == "Indexed";
  for (std::int64_t i = 0; i < count; ++i) {
    json::Value pod = pod_of(job, fmt::format("{}-{}", name, i));
    if (is_indexed) add_label(pod, "batch.kubernetes.io/job-completion-index", std::to_string(i));
    result.pods.push_back(std::move(pod));
  }
  return result;
}

// The pod's volume of that name is the claim's.
void use_claim(json::Value& pod, const std::string& volume, const std::string& claim) {
  json::Object& spec = json::object_at(pod, {"spec"});
  json::Array volumes = json::array_at(pod, {"spec", "volumes"});
  json::Array kept;
  for (json::Value& one : volumes)
    if (json::string_at(one, {"name"}) != volume) kept.push_back(std::move(one));
  kept.push_back(json::Object{{"name", volume}, {"persistentVolumeClaim", json::Object{{"claimName", claim}}}});
  spec["volumes"] = std::move(kept);
}

PodsToBe pods_of_stateful_set(const json::Value& set, const std::string& name) {
  PodsToBe result;
  const std::int64_t first = json::integer_at(set, {"spec", "ordinals", "start"});
  const std::int64_t count = json::integer_at(set, {"spec", "replicas"}, 1);
  for (std::int64_t i = first; i < first + count; ++i) {
    json::Value pod = pod_of(set, fmt::format("{}-{}", name, i));
    add_label(pod, "apps.kubernetes.io/pod-index", std::to_string(i));
    add_label(pod, "statefulset.kubernetes.io/pod-name", fmt::format("{}-{}", name, i));
    for (const json::Value& claim : json::array_at(set, {"spec", "volumeClaimTemplates"})) {
      const std::string volume(json::string_at(claim, {"metadata", "name"}));
      json::Value made = json::Object{
          {"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}, {"spec", json::map_at(claim, {"spec"})}};
      const std::string claim_name = fmt::format("{}-{}-{}", volume, name, i);
      json::object_at(made, {"metadata"}) = {{"name", claim_name},
                                             {"namespace", json::string_at(set, {"metadata", "namespace"})}};
      use_claim(pod, volume, claim_name);
      result.claims.push_back(std::move(made));
    }
    result.pods.push_back(std::move(pod));
  }
  return result;
}

// The launcher of an old MPIJob has the workers' template, but none of their devices.
void drop_resources(json::Value& pod) {
  json::Value* containers = json::find(pod, {"spec", "containers"});
  if (containers == nullptr || !containers->is_array()) return;
  for (json::Value& container : containers->get_array())
    if (json::Object* object = container.if_object()) object->erase("resources");
}

// One gang: what a training job is to the scheduler.
PodsToBe pods_of_training_job(const json::Value& job, const std::string& name) {
  PodsToBe result;
  if (arena::is_suspended(job)) {
    result.note = "it is suspended and makes no pods until it is resumed";
    return result;
  }
  std::int64_t minimum = 0;
  for (const arena::JobRole& role : arena::roles_of(job)) {
    if (role.pod_template == nullptr) continue;
    minimum += role.minimum;
    for (std::int64_t i = 0; i < role.count; ++i) {
      json::Value source = json::Object{{"metadata", json::map_at(job, {"metadata"})},
                                        {"spec", json::Object{{"template", *role.pod_template}}}};
      json::Value pod = pod_of(source, fmt::format("{}-{}-{}", name, role.name, i));
      if (role.gpus == 0 && role.name == "launcher") drop_resources(pod);
      add_label(pod, api::kPodGroupLabel, name);
      result.pods.push_back(std::move(pod));
    }
  }
  json::Value group = json::Object{
      {"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
      {"kind", "PodGroup"},
      {"metadata", json::Object{{"name", name}, {"namespace", json::string_at(job, {"metadata", "namespace"})}}},
      {"spec", json::Object{{"minMember", std::max<std::int64_t>(1, minimum)}}}};
  result.groups.push_back(std::move(group));
  return result;
}

}  // namespace

Result<std::vector<Manifest>> read_manifests(std::string_view text, const std::string& ns) {
  std::vector<Manifest> manifests;
  GW_TRY(std::vector<json::Value> documents, json::parse_yaml(text));
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (documents[i].is_null()) continue;
    if (auto added = add(manifests, std::move(documents[i]), ns); !added)
      return std::move(added.error()).within(fmt::format("document {}", i + 1));
  }
  return manifests;
}

PodsToBe pods_made_by(const json::Value& workload) {
  const std::string_view kind = json::string_at(workload, {"kind"});
  const std::string name(json::string_at(workload, {"metadata", "name"}));
  PodsToBe result;
  if (kind == "Pod") {
    result.pods = {workload};
  } else if (kind == "Job") {
    result = pods_of_job(workload, name);
  } else if (kind == "StatefulSet") {
    result = pods_of_stateful_set(workload, name);
  } else if (arena::job_kind(kind) != nullptr) {
    result = pods_of_training_job(workload, name);
  } else if (kind == "Deployment" || kind == "ReplicaSet") {
    for (std::int64_t i = 0; i < json::integer_at(workload, {"spec", "replicas"}, 1); ++i)
      result.pods.push_back(pod_of(workload, fmt::format("{}-{}", name, i)));
  }
  if (result.pods.empty() && result.note.empty() && kind != "PodGroup") result.note = "it asks for no pods";
  return result;
}

}  // namespace gangway::cli
