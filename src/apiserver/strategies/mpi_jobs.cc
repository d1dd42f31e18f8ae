// MPIJob: the rules that its schema cannot say. Which of the three generations a job is of is decided when it is made:
// by what it has, and where that leaves it open by the version in which it is made. It stays what it is.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "api/gang.h"
#include "api/mpi.h"
#include "apiserver/strategies/creator.h"
#include "apiserver/strategies/gang_annotations.h"
#include "apiserver/strategies/job_templates.h"
#include "apiserver/strategies/kubeflow_jobs.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

using api::MpiGeneration;

constexpr std::size_t kLongestName = 63;

// Fields of the spec that not all generations have.
struct OwnField {
  std::string_view name;
  bool first, second, third;  // v1alpha1, v1, v2beta1
};
constexpr OwnField kOwnFields[] = {{"replicas", true, false, false},
                                   {"gpus", true, false, false},
                                   {"gpusPerNode", true, false, false},
                                   {"processingUnits", true, false, false},
                                   {"processingUnitsPerNode", true, false, false},
                                   {"processingResourceType", true, false, false},
                                   {"template", true, false, false},
                                   {"launcherOnMaster", true, false, false},
                                   {"launcherResources", true, false, false},
                                   {"mountsOnLauncher", true, false, false},
                                   {"backoffLimit", true, true, false},
                                   {"activeDeadlineSeconds", true, true, false},
                                   {"ttlSecondsAfterFinished", true, true, false},
                                   {"cleanPodPolicy", true, true, false},
                                   {"mpiReplicaSpecs", false, true, true},
                                   {"mainContainer", false, true, false},
                                   {"mpiImplementation", false, false, true},
                                   {"sshAuthMountPath", false, false, true},
                                   {"launcherCreationPolicy", false, false, true},
                                   {"runLauncherAsWorker", false, false, true}};

// Requires: a job of v2beta1 has the field that says so, or is about to be made.
MpiGeneration generation_of(const Review& review) {
  if (review.old) return api::mpi_generation(*review.old);
  const MpiGeneration seen = api::mpi_generation(review.object);
  const bool is_newest = json::string_at(review.object, {"apiVersion"}) == "kubeflow.org/v2beta1";
  return seen == MpiGeneration::kV1 && is_newest ? MpiGeneration::kV2Beta1 : seen;
}

void prepare_mpi_job(Review& review) {
  if (!review.subresource.empty()) return;
  switch (generation_of(review)) {
    case MpiGeneration::kV1Alpha1:
      return;
    case MpiGeneration::kV1:
      return normalise_replicas(review, api::mpi_job_kind());
    case MpiGeneration::kV2Beta1:
      break;
  }
  normalise_replicas(review, api::ssh_mpi_job_kind());
  json::Object& spec = json::object_at(review.object, {"spec"});
  const auto usual = [&](std::string_view field, json::Value value) {
    if (const json::Value* given = spec.if_contains(field); given == nullptr || given->is_null())
      spec[field] = std::move(value);
  };
  usual("slotsPerWorker", 1);
  usual("mpiImplementation", "OpenMPI");
  usual("launcherCreationPolicy", "AtStartup");
  usual("sshAuthMountPath", json::Value(api::kMpiSshFolder));
}

void check_fields(const Field& spec, MpiGeneration generation) {
  for (const OwnField& field : kOwnFields) {
    const bool has = generation == MpiGeneration::kV1Alpha1 ? field.first
                     : generation == MpiGeneration::kV1     ? field.second
                                                            : field.third;
    if (!has && spec[field.name])
      spec[field.name].forbidden(
          fmt::format("this is an MPIJob of kubeflow.org/{}, which does not have it", to_text(generation)));
  }
}

// ── v1alpha1 ──

// How many workers there are is said once: as a number, or as a sum of what they have.
void check_size(const Field& spec) {
  const char* said = nullptr;
  for (const char* field : {"replicas", "gpus", "processingUnits"}) {
    if (!spec[field]) continue;
    if (said != nullptr) spec[field].forbidden(fmt::format("spec.{} says it already", said));
    if (spec[field].integer_or(1) < 1) spec[field].invalid("must be at least 1");
    said = field;
  }
  if (said == nullptr) spec["replicas"].required("or one of gpus, processingUnits");
  const auto check_sum = [&](const char* sum, const char* each) {
    const auto most = spec[each].integer_or(1);
    const auto total = spec[sum].integer_or(0);
    if (most > 0 && total > most && total % most != 0)
      spec[sum].invalid(fmt::format("must be a multiple of spec.{} ({})", each, most));
  };
  check_sum("gpus", "gpusPerNode");
  check_sum("processingUnits", "processingUnitsPerNode");
}

void check_first_template(const Field& spec, const Field& before) {
  if (!spec["template"]) return spec["template"].required("or spec.mpiReplicaSpecs, in v1 and v2beta1");
  auto containers = spec["template"]["spec"]["containers"];
  if (containers.empty()) return containers.required("the first one runs mpirun");
  check_job_template(spec["template"], before["template"]);
}

void check_name(const Field& job) {
  auto name = job["metadata"]["name"];
  name.invalid_each(names::check_dns1035_label(name.text()));
  const auto last = std::max<std::int64_t>(0, job["spec"]["replicas"].integer_or(1) - 1);
  const std::string pod = fmt::format("{}-worker-{}", name.text(), last);
  if (pod.size() > kLongestName)
    name.invalid(fmt::format("its pod {} would have more than {} characters in its name", pod, kLongestName));
}

void validate_first(Review& review, const Field& job) {
  if (!review.old) check_name(job);
  check_size(job["spec"]);
  check_first_template(job["spec"], old_object(review)["spec"]);
  check_job_annotations(job, old_object(review), false);
}

// ── v1, v2beta1 ──

std::optional<std::int64_t> count_in(const Field& annotation) {
  const std::string_view text = annotation.text();
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// True when it can go on with fewer Workers than it would like.
bool check_elastic(const Field& job, const Field& workers) {
  auto annotations = job["metadata"]["annotations"];
  auto fewest = annotations.key(api::kMinWorkers);
  const auto least = count_in(fewest);
  const auto most = count_in(annotations.key(api::kMaxWorkers)).value_or(workers["replicas"].integer_or(0));
  if (!least) return false;
  if (annotations.key(api::kMaxWorkers) && *least > most)
    fewest.invalid(fmt::format("must not be more than annotation {} ({})", api::kMaxWorkers, most));
  return *least < std::max(most, workers["replicas"].integer_or(0));
}

void check_roles(const Field& specs, bool by_ssh) {
  auto launcher = specs[api::kLauncher];
  auto workers = specs[api::kWorker];
  if (!launcher) {
    launcher.required("it runs mpirun");
  } else if (launcher["replicas"].integer_or(1) != 1) {
    launcher["replicas"].invalid("there is one Launcher: must be 1");
  }
  if (!by_ssh) return;
  for (const auto& role : {launcher, workers}) role["restartPolicy"].one_of({"Never", "OnFailure"});
  if (workers && workers["replicas"].integer_or(0) < 1)
    workers["replicas"].invalid(fmt::format("must be at least 1 (got {})", workers["replicas"].integer_or(0)));
}

void validate_later(Review& review, const Field& job, bool by_ssh) {
  const auto& kind = by_ssh ? api::ssh_mpi_job_kind() : api::mpi_job_kind();
  auto specs = job["spec"][kind.replica_specs];
  if (!review.old) check_job_names(kind, job);
  check_types(kind, specs, old_object(review)["spec"][kind.replica_specs]);
  check_roles(specs, by_ssh);
  auto folder = job["spec"]["sshAuthMountPath"];
  if (folder && !folder.text().starts_with("/")) folder.invalid("must be an absolute path");
  check_run_policy(review, kind, job, old_object(review),
                   by_ssh ? "kubeflow.org/mpi-operator" : "kubeflow.org/training-operator");
  const bool is_elastic = check_elastic(job, specs[api::kWorker]);
  check_job_annotations(job, old_object(review), is_elastic);
}

void validate_mpi_job(Review& review) {
  if (review.subresource == "status") return;
  auto job = new_object(review);
  const MpiGeneration generation = generation_of(review);
  check_fields(job["spec"], generation);
  if (generation == MpiGeneration::kV1Alpha1) return validate_first(review, job);
  validate_later(review, job, generation == MpiGeneration::kV2Beta1);
}

}  // namespace

const Strategy& mpi_job_strategy() {
  static const Strategy strategy = [] {
    auto made = custom_resource_strategy();
    made.admit = admit_with_creator;
    made.prepare = prepare_mpi_job;
    made.validate = validate_mpi_job;
    return made;
  }();
  return strategy;
}

}  // namespace gangway::apiserver
