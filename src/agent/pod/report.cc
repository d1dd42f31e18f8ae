#include "agent/pod/report.h"

#include "api/training_report.h"
#include "base/time.h"
#include "json/access.h"

namespace gangway::agent {
namespace {

constexpr std::size_t kLongestPath = 1024;
constexpr std::string_view kNumbers[] = {"epoch", "step", "total", "loss"};

json::Object condition(std::string_view type, std::string_view reason, std::string message, WallTime at) {
  return {{"type", type},
          {"status", "True"},
          {"reason", reason},
          {"message", std::move(message)},
          {"lastTransitionTime", to_rfc3339(at)}};
}

}  // namespace

json::Array conditions_of(const PodReport& report) {
  json::Array conditions;
  if (const auto checkpoint = json::parse(report.checkpoint)) {
    const std::string_view path = json::string_at(*checkpoint, {"path"});
    const auto at = parse_rfc3339(json::string_at(*checkpoint, {"at"}));
    if (at && path.size() <= kLongestPath)
      conditions.push_back(condition(api::kCheckpointCondition, "Saved", std::string(path), *at));
  }
  if (const auto progress = json::parse(report.progress)) {
    json::Object numbers;
    for (const std::string_view key : kNumbers)
      if (const json::Value* number = json::find(*progress, {key}); number != nullptr && number->is_number())
        numbers[key] = *number;
    const auto at = parse_rfc3339(json::string_at(*progress, {"at"}));
    if (at && !numbers.empty())
      conditions.push_back(
          condition(api::kProgressCondition, "Reported", json::serialize(json::Value(std::move(numbers))), *at));
  }
  return conditions;
}

}  // namespace gangway::agent
