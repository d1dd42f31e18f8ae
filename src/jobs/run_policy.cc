#include "jobs/run_policy.h"

#include <algorithm>
#include <string_view>

#include "api/kubeflow.h"

namespace gangway::jobs {
namespace {

// Who runs these jobs elsewhere, and whom this cluster stands in for.
constexpr std::string_view kOperators[] = {"kubeflow.org/training-operator", "kubeflow.org/mpi-operator"};

std::optional<std::int64_t> number_in(const json::Value* value) {
  if (value == nullptr || value->is_null()) return std::nullopt;
  return json::integer_at(*value, {});
}

std::optional<Duration> seconds_in(const json::Value* value) {
  const auto number = number_in(value);
  if (!number) return std::nullopt;
  return std::chrono::seconds(*number);
}

CleanPods read_clean(const json::Value* value) {
  const std::string_view text = value == nullptr ? std::string_view() : json::string_at(*value, {});
  if (text == "All") return CleanPods::kAll;
  return text == "Running" ? CleanPods::kRunning : CleanPods::kNone;
}

}  // namespace

RunPolicy read_run_policy(const json::Value& job) {
  const auto field = [&](std::string_view key) { return api::run_policy_field(job, key); };
  RunPolicy policy;
  policy.clean = read_clean(field("cleanPodPolicy"));
  policy.time_to_live = seconds_in(field("ttlSecondsAfterFinished"));
  policy.deadline = seconds_in(field("activeDeadlineSeconds"));
  policy.backoff_limit = number_in(field("backoffLimit"));
  policy.is_suspended = field("suspend") != nullptr && json::flag_at(*field("suspend"), {});
  if (const json::Value* by = field("managedBy"))
    policy.is_ours =
        std::find(std::begin(kOperators), std::end(kOperators), json::string_at(*by, {})) != std::end(kOperators);
  const json::Value* gang = field("schedulingPolicy");
  if (gang == nullptr) return policy;
  policy.min_available = number_in(json::find(*gang, {"minAvailable"}));
  if (const json::Value* amounts = json::find(*gang, {"minResources"})) policy.min_resources = *amounts;
  policy.schedule_timeout_seconds = number_in(json::find(*gang, {"scheduleTimeoutSeconds"}));
  return policy;
}

}  // namespace gangway::jobs
