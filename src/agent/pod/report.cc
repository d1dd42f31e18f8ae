#include "agent/pod/report.h"

#include <utility>

#include "api/training_report.h"
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

// The first report of this run of the program, which rates are counted from.
json::Object beginning_of(const json::Value& progress) {
  json::Object since;
  for (const std::string_view key : {"epoch", "step"})
    if (const json::Value* number = json::find(progress, {"since", key}); number != nullptr && number->is_number())
      since[key] = *number;
  const auto at = parse_rfc3339(json::string_at(progress, {"since", "at"}));
  if (!at || since.empty()) return {};
  since["at"] = to_rfc3339(*at);
  return since;
}

}  // namespace

PodReport brought_up_to(PodReport told, PodReport read) {
  if (read.checkpoint.empty()) read.checkpoint = std::move(told.checkpoint);
  if (read.progress.empty()) read.progress = std::move(told.progress);
  return read;
}

bool is_worth_telling(const PodReport& told, const PodReport& now, Duration since) {
  return now.checkpoint != told.checkpoint || (now.progress != told.progress && since >= kTellProgressEvery);
}

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
    const bool has_numbers = !numbers.empty();
    if (json::Object since = beginning_of(*progress); !since.empty()) numbers["since"] = std::move(since);
    if (at && has_numbers)
      conditions.push_back(
          condition(api::kProgressCondition, "Reported", json::serialize(json::Value(std::move(numbers))), *at));
  }
  return conditions;
}

}  // namespace gangway::agent
