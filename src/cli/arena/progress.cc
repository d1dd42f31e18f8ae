#include "cli/arena/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "api/conditions.h"
#include "api/training_report.h"
#include "cli/arena/instance.h"

namespace gangway::cli::arena {
namespace {

// Reports have whole seconds: a rate from fewer of them is noise.
constexpr Duration kShortestRun = std::chrono::seconds(10);
// Nobody waits for what is further away, and clocks cannot say it.
constexpr double kLongestSeconds = 100.0 * 365 * 24 * 3600;
constexpr std::size_t kBarWidth = 20;

std::optional<json::Value> condition_of(const json::Value& pod, std::string_view type) {
  const json::Object* condition = api::find_condition(pod, type);
  return condition == nullptr ? std::nullopt : std::optional<json::Value>(*condition);
}

std::optional<double> number_at(const json::Value& object, std::initializer_list<std::string_view> path) {
  const json::Value* value = json::find(object, path);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double number = value->to_number<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// 1200 rather than 1200.0, and 0.31 rather than 0.3100000000001.
std::string number_text(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) return fmt::format("{:.0f}", number);
  return fmt::format("{:.4g}", number);
}

std::string percent(double fraction) {
  return fmt::format("{}%", static_cast<int>(std::floor(fraction * 100)));
}

json::Value number_json(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) return static_cast<std::int64_t>(number);
  return number;
}

}  // namespace

std::optional<Progress> progress_of(const json::Value& pod) {
  const auto condition = condition_of(pod, api::kProgressCondition);
  if (!condition) return std::nullopt;
  const auto told = json::parse(json::string_at(*condition, {"message"}));
  if (!told || !told->is_object()) return std::nullopt;
  Progress progress;
  progress.epoch = number_at(*told, {"epoch"});
  progress.step = number_at(*told, {"step"});
  progress.total = number_at(*told, {"total"});
  progress.loss = number_at(*told, {"loss"});
  progress.at = time_at(*condition, {"lastTransitionTime"});
  const auto first = number_at(*told, {"since", progress.step ? "step" : "epoch"});
  const WallTime since = time_at(*told, {"since", "at"});
  if (first && since > WallTime()) progress.since = Progress::Start{*first, since};
  return progress;
}

std::optional<Checkpoint> checkpoint_of(const json::Value& pod) {
  const auto condition = condition_of(pod, api::kCheckpointCondition);
  if (!condition) return std::nullopt;
  return Checkpoint{std::string(json::string_at(*condition, {"message"})), time_at(*condition, {"lastTransitionTime"})};
}

std::optional<double> fraction_of(const Progress& progress) {
  if (!progress.done() || !progress.total || *progress.total <= 0) return std::nullopt;
  return std::clamp(*progress.done() / *progress.total, 0.0, 1.0);
}

std::optional<WallTime> estimated_end(const Progress& progress, WallTime now) {
  const auto fraction = fraction_of(progress);
  if (!fraction || *fraction >= 1 || !progress.since) return std::nullopt;
  const Duration ran = progress.at - progress.since->at;
  const double advance = *progress.done() - progress.since->done;
  if (ran < kShortestRun || advance <= 0) return std::nullopt;
  const double left = *progress.total - *progress.done();
  const double seconds = left / advance * std::chrono::duration<double>(ran).count();
  if (seconds > kLongestSeconds) return std::nullopt;
  const WallTime end = progress.at + std::chrono::seconds(static_cast<std::int64_t>(std::ceil(seconds)));
  // It should have ended by now and has not: it goes on slower than it did, or not at all.
  return end < now ? std::nullopt : std::optional(end);
}

std::string progress_text(const Progress& progress) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const auto share = fraction_of(progress);
  const std::string total = share ? fmt::format("/{} ({})", number_text(*progress.total), percent(*share)) : "";
  if (progress.epoch) add(fmt::format("epoch {}{}", number_text(*progress.epoch), progress.step ? "" : total));
  if (progress.step) add(fmt::format("step {}{}", number_text(*progress.step), total));
  if (progress.loss) add("loss " + loss_text(progress));
  return text;
}

std::string loss_text(const Progress& progress) {
  return progress.loss ? number_text(*progress.loss) : "";
}

std::string short_progress(const Progress& progress) {
  if (const auto share = fraction_of(progress)) return percent(*share);
  if (progress.step) return fmt::format("step {}", number_text(*progress.step));
  return progress.epoch ? fmt::format("epoch {}", number_text(*progress.epoch)) : "";
}

std::string progress_bar(const Progress& progress) {
  const auto share = fraction_of(progress);
  if (!share) return short_progress(progress);
  const auto full = static_cast<std::size_t>(std::floor(*share * kBarWidth));
  return fmt::format("[{}{}] {}", std::string(full, '#'), std::string(kBarWidth - full, '-'), percent(*share));
}

json::Value to_json(const Progress& progress, std::optional<WallTime> end) {
  json::Object object;
  const auto add = [&](std::string_view key, const std::optional<double>& number) {
    if (number) object[key] = number_json(*number);
  };
  add("epoch", progress.epoch);
  add("step", progress.step);
  add("total", progress.total);
  add("loss", progress.loss);
  if (const auto share = fraction_of(progress)) object["percent"] = static_cast<std::int64_t>(std::floor(*share * 100));
  object["reportedAt"] = to_rfc3339(progress.at);
  if (end) object["estimatedEnd"] = to_rfc3339(*end);
  return object;
}

json::Value to_json(const Checkpoint& checkpoint) {
  return json::Object{{"path", checkpoint.path}, {"savedAt", to_rfc3339(checkpoint.at)}};
}

}  // namespace gangway::cli::arena
