#include "controllers/job_pod.h"

#include <algorithm>
#include <boost/json/monotonic_resource.hpp>
#include <charconv>
#include <string_view>

#include "api/conditions.h"
#include "api/owner.h"

namespace gangway::controllers {
namespace {

std::optional<std::int64_t> number_at(const json::Value& pod, std::string_view annotation) {
  const std::string_view text = json::string_at(pod, {"metadata", "annotations", annotation});
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// The last end of a container, when all of them have one.
std::optional<WallTime> containers_ended(const json::Value& pod) {
  std::optional<WallTime> last;
  for (const json::Value& status : json::array_at(pod, {"status", "containerStatuses"})) {
    const auto ended = parse_rfc3339(json::string_at(status, {"state", "terminated", "finishedAt"}));
    if (!ended) return std::nullopt;
    last = std::max(last.value_or(*ended), *ended);
  }
  return last;
}

std::optional<WallTime> ceased_to_be_ready(const json::Value& pod) {
  const json::Object* ready = api::find_condition(pod, "Ready");
  if (ready == nullptr) return std::nullopt;
  const json::Value condition(*ready);
  const auto since = parse_rfc3339(json::string_at(condition, {"lastTransitionTime"}));
  if (!since || json::string_at(condition, {"status"}) != "False") return std::nullopt;
  return *since;
}

// As well as it can be told. A deletion began its grace period before the time that it names.
WallTime end_of(const api::Version& version, const json::Value& pod) {
  if (const auto ended = containers_ended(pod)) return *ended;
  if (const auto ended = ceased_to_be_ready(pod)) return *ended;
  if (version.header->deleting_since) {
    const auto grace = json::integer_at(pod, {"metadata", "deletionGracePeriodSeconds"});
    return *version.header->deleting_since - std::chrono::seconds(grace);
  }
  return version.header->created;
}

void read_containers(const json::Value& pod, JobPodFacts& facts) {
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const json::Value& status : json::array_at(pod, {"status", list})) {
      facts.restarts += json::integer_at(status, {"restartCount"});
      const std::int64_t code = json::integer_at(status, {"state", "terminated", "exitCode"});
      if (code != 0) facts.failures.push_back({std::string(json::string_at(status, {"name"})), code});
    }
  }
}

}  // namespace

JobPodFacts read_job_pod(const api::Version& version) {
  JobPodFacts facts;
  const auto tree = json::parse(*version.json);
  if (!tree) return facts;
  const json::Value& pod = *tree;
  const PodFacts common = read_pod(version);
  facts.phase = common.phase;
  facts.ready = common.ready;
  facts.index = number_at(pod, kIndexKey);
  facts.index_failures = number_at(pod, kIndexFailures).value_or(0);
  facts.ignored_index_failures = number_at(pod, kIgnoredIndexFailures).value_or(0);
  facts.ended = end_of(version, pod);
  read_containers(pod, facts);
  for (const json::Value& condition : json::array_at(pod, {"status", "conditions"}))
    facts.conditions.emplace_back(json::string_at(condition, {"type"}), json::string_at(condition, {"status"}));
  return facts;
}

bool JobPod::is_tracked() const {
  return api::has_finalizer(header(), kTrackingFinalizer);
}

}  // namespace gangway::controllers
