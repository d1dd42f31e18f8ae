#include "apiserver/strategies/gang_annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>

#include "api/gang.h"
#include "base/time.h"

namespace gangway::apiserver {
namespace {

constexpr std::int64_t kHighestCount = std::numeric_limits<std::int32_t>::max();

std::optional<std::int64_t> count_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > kHighestCount) return std::nullopt;
  return number;
}

void check_count(const Field& annotation, std::int64_t least) {
  auto number = count_in(annotation.text());
  if (!number || *number < least) annotation.invalid(fmt::format("must be a whole number, at least {}", least));
}

void check_duration(const Field& annotation, bool may_be_zero) {
  auto duration = parse_duration(annotation.text());
  if (!duration) return annotation.invalid("must be a duration such as 90s, 10m or 1h30m");
  if (*duration < Duration(0)) return annotation.invalid("must not be negative");
  if (*duration == Duration(0) && !may_be_zero) annotation.invalid("must be more than 0");
}

// What is wrong with one annotation by itself. Words are exact: readers of the objects compare them as they are.
void check_on_preempt(const Field& annotation) {
  annotation.one_of({"Fail", "Requeue", "Shrink"});
}
void check_min_runtime(const Field& annotation) {
  check_duration(annotation, true);
}
void check_max_preemptions(const Field& annotation) {
  check_count(annotation, 0);
}
void check_last_checkpoint(const Field& annotation) {
  if (!parse_rfc3339(annotation.text())) {
    annotation.invalid("must be a time as RFC 3339 writes it, such as 2026-01-02T15:04:05Z");
  }
}
void check_expected_duration(const Field& annotation) {
  check_duration(annotation, false);
}
void check_max_members(const Field& annotation) {
  check_count(annotation, 1);
}
// Each names itself, says how many there will be, and what their pods look like.
void check_late_members(const Field& annotation) {
  const auto list = json::parse(annotation.text());
  if (!list || !list->is_array()) return annotation.invalid("must be a JSON list of {name, count, template}");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < list->get_array().size(); ++i) {
    const json::Value& late = list->get_array()[i];
    const std::string_view name = json::string_at(late, {"name"});
    const auto count = json::integer_at(late, {"count"}, 1);
    if (name.empty() || !names.insert(name).second)
      return annotation.invalid(fmt::format("entry {} must have a name of its own", i));
    if (count < 1 || count > kHighestCount)
      return annotation.invalid(fmt::format("the count of {} must be a whole number, at least 1", name));
    if (json::array_at(late, {"template", "spec", "containers"}).empty())
      return annotation.invalid(fmt::format("the template of {} must have containers", name));
  }
}
void check_attempt(const Field& annotation) {
  check_count(annotation, 1);
}
void check_workers(const Field& annotation) {
  check_count(annotation, 1);
}

struct Rule {
  std::string_view key;
  void (*check)(const Field& annotation);
};
constexpr Rule kRules[] = {
    {api::kOnPreempt, check_on_preempt},
    {api::kMinRuntime, check_min_runtime},
    {api::kMaxPreemptions, check_max_preemptions},
    {api::kLastCheckpoint, check_last_checkpoint},
    {api::kExpectedDuration, check_expected_duration},
    {api::kMaxMembers, check_max_members},
    {api::kLateMembers, check_late_members},
    {api::kAttempt, check_attempt},
    {api::kMinWorkers, check_workers},
    {api::kMaxWorkers, check_workers},
};

bool has_ours(const json::Value& object) {
  const auto* annotations = json::find(object, {"metadata", "annotations"});
  if (!annotations || !annotations->is_object()) return false;
  return std::any_of(annotations->get_object().begin(), annotations->get_object().end(),
                     [](const auto& entry) { return entry.key().starts_with(api::kGangwayPrefix); });
}

// False when one of them is wrong by itself.
bool check_each(const Field& annotations) {
  const auto before = annotations.causes().size();
  for (const auto& [key, check] : kRules) {
    if (auto annotation = annotations.key(key)) check(annotation);
  }
  return annotations.causes().size() == before;
}

}  // namespace

void check_group_annotations(const Field& group, const Field& before) {
  if (!group || !has_ours(*group.value())) return;
  auto annotations = group["metadata"]["annotations"];
  auto fewest = group["spec"]["minMember"];
  if (before && annotations.same_as(before["metadata"]["annotations"]) && fewest.same_as(before["spec"]["minMember"])) {
    return;
  }
  if (!check_each(annotations)) return;
  const auto least = fewest.integer_or(1);
  auto most = annotations.key(api::kMaxMembers);
  const auto wanted = count_in(most.text()).value_or(least);
  if (wanted < least) return most.invalid(fmt::format("must be at least spec.minMember ({})", least));
  auto on_preempt = annotations.key(api::kOnPreempt);
  if (on_preempt.text() != "Shrink" || wanted > least) return;
  on_preempt.invalid(
      fmt::format("Shrink needs an elastic group: annotation {} above spec.minMember ({})", api::kMaxMembers, least));
}

void check_pod_annotations(const Field& pod, const Field& before) {
  if (!pod || !has_ours(*pod.value())) return;
  auto annotations = pod["metadata"]["annotations"];
  if (before && annotations.same_as(before["metadata"]["annotations"])) return;
  check_each(annotations);
  auto labels = pod["metadata"]["labels"];
  if (!labels.key(api::kPodGroupLabel).empty() || !labels.key(api::kOldPodGroupLabel).empty()) return;
  auto on_preempt = annotations.key(api::kOnPreempt);
  if (on_preempt.text() == "Shrink") {
    on_preempt.invalid(
        fmt::format("Shrink needs an elastic group, and this pod belongs to none (label {})", api::kPodGroupLabel));
  }
  for (const auto key : {api::kMaxMembers, api::kLateMembers}) {
    if (auto members = annotations.key(key)) {
      members.forbidden("only a PodGroup has members, and this pod belongs to none");
    }
  }
}

void check_job_annotations(const Field& job, const Field& before, bool is_elastic) {
  if (!job || !has_ours(*job.value())) return;
  auto annotations = job["metadata"]["annotations"];
  if (before && annotations.same_as(before["metadata"]["annotations"]) && job["spec"].same_as(before["spec"])) return;
  check_each(annotations);
  annotations.key(api::kGang).one_of({"true", "false"});
  auto folder = annotations.key(api::kCheckpointDir);
  if (folder && !folder.text().starts_with("/")) folder.invalid("must be an absolute path");
  auto on_preempt = annotations.key(api::kOnPreempt);
  if (on_preempt.text() == "Shrink" && !is_elastic) {
    on_preempt.invalid("Shrink needs an elastic job, one that goes on with fewer pods than it would like");
  }
}

}  // namespace gangway::apiserver
