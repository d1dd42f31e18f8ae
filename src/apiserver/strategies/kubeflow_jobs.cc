// PyTorchJob and TFJob: the rules that their schemas cannot say.
#include "apiserver/strategies/kubeflow_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "apiserver/strategies/creator.h"
#include "apiserver/strategies/gang_annotations.h"
#include "apiserver/strategies/job_templates.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kOldPlaces[] = {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds",
                                           "backoffLimit"};
constexpr std::size_t kLongestName = 63;

// Whether the type that `key` means is there under its own name, as it was before: then `key` is how it is written now.
bool may_replace(const Review& review, const api::KubeflowKind& kind, const json::Object& specs,
                 std::string_view type) {
  const json::Value* present = specs.if_contains(type);
  if (present == nullptr) return true;
  const json::Value* before = review.old ? json::find(*review.old, {"spec", kind.replica_specs, type}) : nullptr;
  return before != nullptr && json::equal(*before, *present);
}

// Types are written in any case and stored as the kind names them.
void normalise_types(Review& review, const api::KubeflowKind& kind) {
  json::Value* found = json::find(review.object, {"spec", kind.replica_specs});
  if (found == nullptr || !found->is_object()) return;
  json::Object& specs = found->get_object();
  std::vector<std::string> keys;
  for (const auto& [key, spec] : specs) keys.emplace_back(key);
  for (const std::string& key : keys) {
    const std::string_view type = api::canonical_type(kind, key);
    if (type.empty() || type == key || !may_replace(review, kind, specs, type)) continue;
    json::Value spec = std::move(specs.at(key));
    specs.erase(key);
    specs[type] = std::move(spec);
  }
}

void add_replicas(Review& review, const api::KubeflowKind& kind, std::string_view but_for) {
  json::Value* found = json::find(review.object, {"spec", kind.replica_specs});
  if (found == nullptr || !found->is_object()) return;
  for (auto& [key, spec] : found->get_object()) {
    if (!spec.is_object() || std::string_view(key) == but_for) continue;
    json::Object& fields = spec.get_object();
    if (!fields.contains("replicas") || fields.at("replicas").is_null())
      fields["replicas"] = api::usual_replicas(kind, key);
  }
}

void check_containers_of(const api::KubeflowKind& kind, const Field& replica) {
  auto containers = replica["template"]["spec"]["containers"];
  if (containers.empty()) {
    return containers.required(kind.is_first_main ? "the first one is where processes are started"
                                                  : fmt::format("a container called {} is needed", kind.container));
  }
  const auto all = containers.items();
  const bool has_main = std::any_of(all.begin(), all.end(),
                                    [&](const Field& container) { return container["name"].text() == kind.container; });
  if (!has_main && !kind.is_first_main) {
    containers.refuse(
        "FieldValueInvalid",
        fmt::format("Invalid value: there is no container called {}: it is the one that trains", kind.container));
  }
}

std::int64_t total_of(const Field& specs) {
  std::int64_t total = 0;
  for (const auto& [type, replica] : specs.entries()) total += replica["replicas"].integer_or(1);
  return total;
}

bool is_count(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size() && number > 0;
}

void check_processes(Review& review, const Field& spec) {
  auto given = spec["nprocPerNode"];
  auto deprecated = spec["elasticPolicy"]["nProcPerNode"];
  if (deprecated && given) deprecated.forbidden("spec.nprocPerNode says it already");
  if (deprecated) {
    review.warnings.emplace_back("spec.elasticPolicy.nProcPerNode: deprecated, use spec.nprocPerNode");
  }
  const std::string_view text = given.text();
  if (given && text != "auto" && text != "cpu" && text != "gpu" && !is_count(text)) {
    given.invalid("must be auto, cpu, gpu or a number above 0");
  }
}

// The size that Workers are made for: those beyond it would wait for the others in vain.
void check_size(const Field& spec, const Field& before) {
  auto replicas = spec["pytorchReplicaSpecs"]["Worker"]["replicas"];
  auto fewest = spec["elasticPolicy"]["minReplicas"];
  auto most = spec["elasticPolicy"]["maxReplicas"];
  const auto numbers = [](const Field& of) {
    return std::tuple(of["pytorchReplicaSpecs"]["Worker"]["replicas"].integer_or(1),
                      of["elasticPolicy"]["minReplicas"].integer_or(0),
                      of["elasticPolicy"]["maxReplicas"].integer_or(0));
  };
  // What is stored may be as it is: other changes of it are not held up.
  if (before && numbers(before) == numbers(spec)) return;
  const auto count = replicas.integer_or(1);
  if (most && count > most.integer_or(count)) {
    replicas.invalid(fmt::format("must not be more than spec.elasticPolicy.maxReplicas ({})", most.integer_or(count)));
  }
  if (fewest && count < fewest.integer_or(count)) {
    replicas.invalid(
        fmt::format("must not be less than spec.elasticPolicy.minReplicas ({})", fewest.integer_or(count)));
  }
}

// True when it can go on with fewer Workers than it would like.
bool check_elastic(Review& review, const Field& spec, const Field& before) {
  auto policy = spec["elasticPolicy"];
  if (!policy) return false;
  auto workers = spec["pytorchReplicaSpecs"]["Worker"];
  auto fewest = policy["minReplicas"];
  auto most = policy["maxReplicas"];
  if (!workers) workers.required("only Workers come and go, as spec.elasticPolicy says");
  if (fewest && most && fewest.integer_or(1) > most.integer_or(1)) {
    fewest.invalid(fmt::format("must not be more than spec.elasticPolicy.maxReplicas ({})", most.integer_or(1)));
  } else if (workers) {
    check_size(spec, before);
  }
  if (!policy["metrics"].empty()) {
    review.warnings.emplace_back("spec.elasticPolicy.metrics: there is no autoscaler here, it has no effect");
  }
  return fewest && most && fewest.integer_or(1) < most.integer_or(1);
}

void validate_pytorch_job(Review& review) {
  if (review.subresource == "status") return;
  const auto& kind = api::pytorch_job_kind();
  auto job = new_object(review);
  auto spec = job["spec"];
  if (!review.old) check_job_names(kind, job);
  check_types(kind, spec[kind.replica_specs], old_object(review)["spec"][kind.replica_specs]);
  if (auto master = spec[kind.replica_specs]["Master"]) {
    if (!master["replicas"]) {
      master["replicas"].required("must be given as 1");
    } else if (master["replicas"].integer_or(0) != 1) {
      master["replicas"].invalid("there is one Master at most: must be 1");
    }
  }
  check_run_policy(review, kind, job, old_object(review));
  check_processes(review, spec);
  const bool is_elastic = check_elastic(review, spec, old_object(review)["spec"]);
  check_job_annotations(job, old_object(review), is_elastic);
}

void validate_tf_job(Review& review) {
  if (review.subresource == "status") return;
  const auto& kind = api::tf_job_kind();
  auto job = new_object(review);
  auto specs = job["spec"][kind.replica_specs];
  if (!review.old) check_job_names(kind, job);
  check_types(kind, specs, old_object(review)["spec"][kind.replica_specs]);
  for (auto type : {api::kChief, api::kMaster}) {
    if (auto replicas = specs[type]["replicas"]; replicas.integer_or(1) > 1) {
      replicas.invalid(fmt::format("there is one {} at most", type));
    }
  }
  if (specs[api::kChief] && specs[api::kMaster]) specs[api::kMaster].forbidden("there is a Chief already");
  check_run_policy(review, kind, job, old_object(review));
  check_job_annotations(job, old_object(review), false);
}

void prepare_pytorch_job(Review& review) {
  if (review.subresource.empty()) normalise_replicas(review, api::pytorch_job_kind(), api::kMaster);
}

void prepare_tf_job(Review& review) {
  if (review.subresource.empty()) normalise_replicas(review, api::tf_job_kind());
}

Strategy job_of(void (*prepare)(Review& review), void (*validate)(Review& review)) {
  auto strategy = custom_resource_strategy();
  strategy.admit = admit_with_creator;
  strategy.prepare = prepare;
  strategy.validate = validate;
  return strategy;
}

}  // namespace

const api::KubeflowKind* kubeflow_kind_of(const KindInfo& kind) {
  if (kind.group != "kubeflow.org") return nullptr;
  for (const auto* known : {&api::pytorch_job_kind(), &api::tf_job_kind(), &api::mpi_job_kind()})
    if (known->kind == kind.kind) return known;
  return nullptr;
}

void normalise_replicas(Review& review, const api::KubeflowKind& kind, std::string_view but_for) {
  normalise_types(review, kind);
  add_replicas(review, kind, but_for);
}

void check_types(const api::KubeflowKind& kind, const Field& specs, const Field& before) {
  if (specs.empty()) return specs.required(fmt::format("at least one of {}", fmt::join(kind.types, ", ")));
  for (const auto& [key, field] : specs.entries()) {
    const std::string_view type = api::canonical_type(kind, key);
    if (type.empty()) {
      specs.key(key).refuse("FieldValueNotSupported", fmt::format("Unsupported value: \"{}\": supported values: \"{}\"",
                                                                  key, fmt::join(kind.types, "\", \"")));
    } else if (type != key) {
      specs.key(key).duplicate(json::Value(type));
    } else {
      auto replica = specs[key];
      check_containers_of(kind, replica);
      check_job_template(replica["template"], before[key]["template"]);
    }
  }
}

void check_job_names(const api::KubeflowKind& kind, const Field& job) {
  auto name = job["metadata"]["name"];
  name.invalid_each(names::check_dns1035_label(name.text()));
  for (const auto& [type, replica] : job["spec"][kind.replica_specs].entries()) {
    const auto last = std::max<std::int64_t>(0, replica["replicas"].integer_or(1) - 1);
    const std::string pod = api::replica_name(name.text(), type, last);
    if (pod.size() > kLongestName) {
      name.invalid(fmt::format("its pod {} would have more than {} characters in its name", pod, kLongestName));
    }
  }
}

void check_run_policy(Review& review, const api::KubeflowKind& kind, const Field& job, const Field& before,
                      std::string_view operator_name) {
  auto spec = job["spec"];
  auto policy = spec["runPolicy"];
  policy["managedBy"].one_of({operator_name, "kueue.x-k8s.io/multikueue"});
  if (before) {
    auto old = before["spec"]["runPolicy"];
    policy["managedBy"].immutable(old["managedBy"]);
    policy["schedulingPolicy"]["queue"].immutable(old["schedulingPolicy"]["queue"]);
  }
  auto fewest = policy["schedulingPolicy"]["minAvailable"];
  if (const auto total = total_of(spec[kind.replica_specs]); fewest.integer_or(0) > total) {
    fewest.invalid(fmt::format("must not be more than all replicas ({})", total));
  }
  for (const std::string_view key : kOldPlaces) {
    if (spec[key]) review.warnings.push_back(fmt::format("spec.{0}: deprecated, use spec.runPolicy.{0}", key));
  }
}

const Strategy& pytorch_job_strategy() {
  static const Strategy strategy = job_of(prepare_pytorch_job, validate_pytorch_job);
  return strategy;
}

const Strategy& tf_job_strategy() {
  static const Strategy strategy = job_of(prepare_tf_job, validate_tf_job);
  return strategy;
}

}  // namespace gangway::apiserver
