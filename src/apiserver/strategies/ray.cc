// RayCluster and RayJob: the rules that their schemas cannot say.
#include "api/ray.h"

#include <fmt/format.h>

#include <limits>
#include <set>
#include <string>

#include "apiserver/strategies/creator.h"
#include "apiserver/strategies/gang_annotations.h"
#include "apiserver/strategies/job_templates.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"
#include "json/yaml.h"

namespace gangway::apiserver {
namespace {

constexpr std::int64_t kMostPods = std::numeric_limits<std::int32_t>::max();

void check_name(const Field& object, std::size_t longest) {
  auto name = object["metadata"]["name"];
  name.invalid_each(names::check_dns1035_label(name.text()));
  if (name.text().size() > longest)
    name.invalid(fmt::format("must be no more than {} characters: other names are made of it", longest));
}

void check_manager(const Field& spec, const Field& before) {
  spec["managedBy"].one_of({api::kRayOperator, "kueue.x-k8s.io/multikueue"});
  if (before) spec["managedBy"].immutable(before["managedBy"]);
}

void check_template(const Field& group, const Field& before, std::string_view what) {
  auto containers = group["template"]["spec"]["containers"];
  if (containers.empty()) return containers.required(fmt::format("the first one runs {}", what));
  check_job_template(group["template"], before["template"]);
}

void check_worker_group(const Field& group, const Field& before) {
  auto name = group["groupName"];
  if (name.empty()) {
    name.required();
  } else {
    name.invalid_each(names::check_label_value(name.text()));
    if (name.text() == api::kRayHeadGroup) name.invalid("is the name of the head's group");
  }
  const auto fewest = group["minReplicas"].integer_or(0);
  const auto most = group["maxReplicas"].integer_or(kMostPods);
  if (fewest > most) group["minReplicas"].invalid(fmt::format("must not be more than maxReplicas ({})", most));
  const auto hosts = group["numOfHosts"].integer_or(1);
  if (hosts > 0 && group["replicas"].integer_or(0) > kMostPods / hosts)
    group["replicas"].invalid(fmt::format("makes more than {} pods", kMostPods));
  check_template(group, before, "a worker");
}

void check_autoscaler(const Field& spec) {
  spec["autoscalerOptions"]["version"].one_of({"v1", "v2"});
  spec["autoscalerOptions"]["upscalingMode"].one_of({"Default", "Aggressive", "Conservative"});
}

// The spec of a cluster, which also stands in a job; `before` is the same before the update.
void check_cluster_spec(Review& review, const Field& spec, const Field& before) {
  auto head = spec["headGroupSpec"];
  if (!head) return head.required();
  check_template(head, before["headGroupSpec"], "the head");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < spec["workerGroupSpecs"].size(); ++i) {
    const auto group = spec["workerGroupSpecs"].at(i);
    check_worker_group(group, before["workerGroupSpecs"].at(i));
    if (!names.insert(group["groupName"].text()).second) group["groupName"].duplicate();
  }
  check_autoscaler(spec);
  if (!spec["gcsFaultToleranceOptions"].empty())
    review.warnings.push_back(spec["gcsFaultToleranceOptions"].path() +
                              ": not supported here, the head's state is lost with its pod");
  if (spec["upgradeStrategy"]["type"].text() == "Recreate")
    review.warnings.push_back(spec["upgradeStrategy"]["type"].path() + ": not supported here, pods stay as they are");
}

// Whether it goes on with fewer workers than it would like.
bool can_shrink(const Field& spec) {
  for (const auto& group : spec["workerGroupSpecs"].items())
    if (group["minReplicas"].integer_or(0) < group["replicas"].integer_or(0)) return true;
  return false;
}

void validate_ray_cluster(Review& review) {
  if (review.subresource == "status") return;
  auto cluster = new_object(review);
  if (!review.old) check_name(cluster, api::kLongestRayCluster);
  auto spec = cluster["spec"];
  if (!spec) return spec.required();
  check_manager(spec, old_object(review)["spec"]);
  check_cluster_spec(review, spec, old_object(review)["spec"]);
  check_job_annotations(cluster, old_object(review), can_shrink(spec));
}

// ── jobs ──

// What is run, and where.
void check_program(const Field& spec) {
  const bool is_interactive = spec["submissionMode"].text() == "InteractiveMode";
  if (spec["entrypoint"].empty() && !is_interactive) spec["entrypoint"].required("the command line of the program");
  if (auto environment = spec["runtimeEnvYAML"]; !environment.empty()) {
    const auto parsed = json::parse_yaml(environment.text());
    if (!parsed) {
      environment.invalid(parsed.error().message);
    } else if (parsed->size() != 1 || !parsed->front().is_object()) {
      environment.invalid("must be one YAML object");
    }
  }
  if (auto resources = spec["entrypointResources"]; !resources.empty()) {
    const auto parsed = json::parse(resources.text());
    if (!parsed || !parsed->is_object()) resources.invalid("must be a JSON object, as {\"TPU\": 4}");
  }
  if (spec["submissionMode"].text() != "SidecarMode") return;
  for (const char* field : {"submitterPodTemplate", "submitterConfig", "clusterSelector"})
    if (spec[field]) spec[field].forbidden("a job in SidecarMode has none");
}

void check_place(Review& review, const Field& spec, const Field& before) {
  auto selector = spec["clusterSelector"];
  auto cluster = spec["rayClusterSpec"];
  if (selector && selector[api::kRayClusterLabel].empty())
    selector.key(api::kRayClusterLabel).required("the name of the cluster");
  if (selector && cluster) cluster.forbidden("spec.clusterSelector names a cluster already");
  if (!selector && !cluster) return cluster.required("or clusterSelector, the name of a cluster that is there");
  if (cluster) check_cluster_spec(review, cluster, before["rayClusterSpec"]);
}

void check_limits(const Field& spec) {
  const bool is_selected = spec["clusterSelector"].exists();
  auto suspend = spec["suspend"];
  if (suspend.flag() && !spec["shutdownAfterJobFinishes"].flag())
    suspend.invalid("only a job with spec.shutdownAfterJobFinishes: true can be suspended");
  if (suspend.flag() && is_selected) suspend.invalid("a job with a spec.clusterSelector cannot be suspended");
  auto retries = spec["backoffLimit"];
  if (retries.integer_or(0) > 0 && is_selected)
    retries.invalid("a job with a spec.clusterSelector is not tried again: must be 0");
  if (retries.integer_or(0) > 0 && spec["submissionMode"].text() == "InteractiveMode")
    retries.invalid("a job in InteractiveMode is not tried again: must be 0");
  auto to_live = spec["ttlSecondsAfterFinished"];
  if (to_live.integer_or(0) > 0 && !spec["shutdownAfterJobFinishes"].flag() && spec["deletionStrategy"].empty())
    to_live.invalid("has a meaning only with spec.shutdownAfterJobFinishes: true");
}

void check_deletion(const Field& spec) {
  auto rules = spec["deletionStrategy"]["deletionRules"];
  if (rules.empty()) return;
  if (spec["shutdownAfterJobFinishes"].flag()) rules.forbidden("spec.shutdownAfterJobFinishes says it already");
  for (const auto& rule : rules.items()) {
    if (rule["policy"].empty()) rule["policy"].required();
    rule["policy"].one_of({"DeleteWorkers", "DeleteCluster", "DeleteSelf", "DeleteNone"});
    auto condition = rule["condition"];
    if (condition["jobStatus"].empty() && condition["jobDeploymentStatus"].empty())
      condition["jobStatus"].required("or jobDeploymentStatus");
    condition["ttlSeconds"].not_negative();
  }
}

void validate_ray_job(Review& review) {
  if (review.subresource == "status") return;
  auto job = new_object(review);
  if (!review.old) check_name(job, api::kLongestRayJob);
  auto spec = job["spec"];
  if (!spec) return spec.required();
  check_manager(spec, old_object(review)["spec"]);
  check_program(spec);
  check_place(review, spec, old_object(review)["spec"]);
  check_limits(spec);
  check_deletion(spec);
  if (auto submitter = spec["submitterPodTemplate"]) {
    auto containers = submitter["spec"]["containers"];
    if (containers.empty()) containers.required("the first one hands the program over");
    check_job_template(submitter, old_object(review)["spec"]["submitterPodTemplate"]);
  }
  check_job_annotations(job, old_object(review), can_shrink(spec["rayClusterSpec"]));
}

Strategy strategy_with(void (*validate)(Review& review)) {
  auto made = custom_resource_strategy();
  made.admit = admit_with_creator;
  made.validate = validate;
  return made;
}

}  // namespace

const Strategy& ray_cluster_strategy() {
  static const Strategy strategy = strategy_with(validate_ray_cluster);
  return strategy;
}

const Strategy& ray_job_strategy() {
  static const Strategy strategy = strategy_with(validate_ray_job);
  return strategy;
}

}  // namespace gangway::apiserver
