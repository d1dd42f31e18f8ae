// MPIJob: the rules that its schema cannot say.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "apiserver/strategies/creator.h"
#include "apiserver/strategies/gang_annotations.h"
#include "apiserver/strategies/pod_spec.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::size_t kLongestName = 63;

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

void check_containers(const Field& spec) {
  auto containers = spec["template"]["spec"]["containers"];
  if (containers.empty()) return containers.required("the first one runs mpirun");
  for (const auto& container : containers.items())
    if (container["image"].empty()) container["image"].required();
}

void check_name(const Field& job) {
  auto name = job["metadata"]["name"];
  name.invalid_each(names::check_dns1035_label(name.text()));
  const auto last = std::max<std::int64_t>(0, job["spec"]["replicas"].integer_or(1) - 1);
  const std::string pod = fmt::format("{}-worker-{}", name.text(), last);
  if (pod.size() > kLongestName)
    name.invalid(fmt::format("its pod {} would have more than {} characters in its name", pod, kLongestName));
}

void validate_mpi_job(Review& review) {
  if (review.subresource == "status") return;
  auto job = new_object(review);
  if (!review.old) check_name(job);
  check_size(job["spec"]);
  check_containers(job["spec"]);
  check_template_metadata(job["spec"]["template"]);
  check_job_annotations(job, old_object(review), false);
}

}  // namespace

const Strategy& mpi_job_strategy() {
  static const Strategy strategy = [] {
    auto made = custom_resource_strategy();
    made.admit = admit_with_creator;
    made.validate = validate_mpi_job;
    return made;
  }();
  return strategy;
}

}  // namespace gangway::apiserver
