#include "jobs/mpi_job.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/gang.h"
#include "api/kubeflow.h"

namespace gangway::jobs {
namespace {

// A whole quantity, written as a number or as text.
std::int64_t whole_quantity(const json::Value& value) {
  if (!value.is_string()) return json::integer_at(value, {});
  const std::string_view text = json::string_at(value, {});
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size() ? number : 0;
}

// What the first container asks for of that resource, or of any kind of GPU.
std::int64_t units_in_template(const json::Value& job, std::string_view resource) {
  const json::Array& containers = json::array_at(job, {"spec", "template", "spec", "containers"});
  if (containers.empty()) return 0;
  for (const char* which : {"limits", "requests"}) {
    const json::Object& amounts = json::map_at(containers.front(), {"resources", which});
    if (const json::Value* amount = amounts.if_contains(resource)) return whole_quantity(*amount);
    if (resource == "cpu") continue;
    for (const auto& [name, amount] : amounts)
      if (std::string_view(name).find("gpu") != std::string_view::npos) return whole_quantity(amount);
  }
  return 0;
}

// A sum of units is spread over as few workers as nodes of that size allow.
void spread(std::int64_t total, std::int64_t most_per_worker, MpiWorkers& workers) {
  const std::int64_t each = std::max<std::int64_t>(1, most_per_worker);
  workers.count = std::max<std::int64_t>(1, total / each);
  workers.units = std::min(total, each);
  workers.is_by_units = true;
}

}  // namespace

const client::Resource& mpi_jobs() {
  static const client::Resource kResource{"kubeflow.org", "v1", "mpijobs"};
  return kResource;
}

MpiWorkers read_mpi_workers(const json::Value& job) {
  MpiWorkers workers;
  if (json::string_at(job, {"spec", "processingResourceType"}) == "cpu") workers.resource = "cpu";
  const std::int64_t gpus = json::integer_at(job, {"spec", "gpus"});
  const std::int64_t units = json::integer_at(job, {"spec", "processingUnits"});
  if (gpus > 0) {
    workers.resource = "nvidia.com/gpu";
    spread(gpus, json::integer_at(job, {"spec", "gpusPerNode"}, 1), workers);
  } else if (units > 0) {
    spread(units, json::integer_at(job, {"spec", "processingUnitsPerNode"}, 1), workers);
  } else {
    workers.count = std::max<std::int64_t>(0, json::integer_at(job, {"spec", "replicas"}, 1));
    workers.units = units_in_template(job, workers.resource);
  }
  workers.slots = std::max<std::int64_t>(
      1, json::integer_at(job, {"spec", "slotsPerWorker"}, std::max<std::int64_t>(1, workers.units)));
  return workers;
}

MpiJob::MpiJob(api::Version job, json::Value document)
    : version(std::move(job)),
      tree(std::move(document)),
      workers(read_mpi_workers(tree)),
      policy(read_run_policy(tree)),
      record(read_job_record(tree)),
      is_gang(api::gang_choice(tree).value_or(true)),
      on_preempt(on_preempt_of(tree)) {
  const json::Value* clean = api::run_policy_field(tree, "cleanPodPolicy");
  keeps_workers = clean != nullptr && json::string_at(*clean, {}) == "None";
}

const json::Value& MpiJob::pod_template() const {
  static const json::Value kNone = json::Object();
  const json::Value* given = json::find(tree, {"spec", "template"});
  return given != nullptr && given->is_object() ? *given : kNone;
}

std::vector<std::string> MpiJob::worker_names() const {
  std::vector<std::string> names;
  for (std::int64_t index = 0; index < workers.count; ++index)
    names.push_back(worker_set_name() + "-" + std::to_string(index));
  return names;
}

}  // namespace gangway::jobs
