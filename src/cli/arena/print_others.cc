#include "cli/arena/print_others.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "cli/arena/instance.h"
#include "cli/arena/table.h"
#include "cli/arena/text.h"
#include "sys/url.h"

namespace gangway::cli::arena {
namespace {

WallTime last_seen(const json::Value& event) {
  for (const auto* field : {"lastTimestamp", "eventTime", "firstTimestamp"})
    if (const WallTime time = time_at(event, {field}); time > WallTime()) return time;
  return time_at(event, {"metadata", "creationTimestamp"});
}

std::string_view note(const json::Value& object, std::string_view key) {
  return json::string_at(object, {"metadata", "annotations", key});
}

std::string access_modes(const json::Value& claim) {
  std::string modes;
  for (const json::Value& mode : json::array_at(claim, {"spec", "accessModes"}))
    if (mode.is_string()) modes += (modes.empty() ? "" : ",") + std::string(mode.get_string());
  return modes;
}

// "5s", "2m", "3h"
Result<std::int64_t> since_seconds(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit(end, text.data() + text.size());
  if (error != std::errc() || count <= 0 || (unit != "s" && unit != "m" && unit != "h"))
    return bad_request(fmt::format("--since: must be a number of s, m or h, as 5s, 2m or 3h (got {})", text));
  return count * (unit == "h" ? 3600 : unit == "m" ? 60 : 1);
}

std::int64_t restarts_of(const json::Value& pod, const std::string& container) {
  std::int64_t restarts = 0;
  for (const json::Value& status : json::array_at(pod, {"status", "containerStatuses"}))
    if (container.empty() || json::string_at(status, {"name"}) == container)
      restarts = std::max(restarts, json::integer_at(status, {"restartCount"}));
  return restarts;
}

bool is_initialising(const json::Value& pod) {
  const std::string status = instance_of(pod).status;
  return status.starts_with("Init:");
}

}  // namespace

std::vector<json::Value> events_of(const JobView& job, std::vector<json::Value> events) {
  std::erase_if(events, [&](const json::Value& event) {
    if (json::string_at(event, {"involvedObject", "namespace"}) != job.ns) return true;
    if (last_seen(event) < job.created) return true;
    const std::string_view name = json::string_at(event, {"involvedObject", "name"});
    if (json::string_at(event, {"involvedObject", "uid"}) == job.uid) return false;
    const bool is_instance = std::any_of(job.instances.begin(), job.instances.end(),
                                         [&](const Instance& each) { return each.name == name; });
    const bool is_group = name == job.name && json::string_at(event, {"involvedObject", "kind"}) == "PodGroup";
    return !is_instance && !is_group && !is_named_after(job.name, name);
  });
  std::stable_sort(events.begin(), events.end(),
                   [](const json::Value& a, const json::Value& b) { return last_seen(a) < last_seen(b); });
  return events;
}

std::string events_text(const std::vector<json::Value>& events, WallTime now) {
  if (events.empty()) return "  No events for resources\n";
  const std::vector<std::string> header = {"SOURCE", "TYPE", "AGE", "MESSAGE"};
  Table table;
  table.row(header);
  table.row(dashes_under(header));
  for (const json::Value& event : events)
    table.row({fmt::format("{}/{}", lower(json::string_at(event, {"involvedObject", "kind"})),
                           json::string_at(event, {"involvedObject", "name"})),
               std::string(json::string_at(event, {"type"})), short_duration(now - last_seen(event)),
               fmt::format("[{}] {}", json::string_at(event, {"reason"}), json::string_at(event, {"message"}))});
  return table.text("  ");
}

std::string claims_text(const std::vector<json::Value>& claims, bool with_namespace, WallTime now) {
  Table table;
  std::vector<std::string> header = {"NAME", "ACCESSMODE", "DESCRIPTION", "OWNER", "AGE"};
  if (with_namespace) header.insert(header.begin() + 1, "NAMESPACE");
  table.row(header);
  for (const json::Value& claim : claims) {
    std::vector<std::string> row = {std::string(json::string_at(claim, {"metadata", "name"})), access_modes(claim),
                                    std::string(note(claim, "description")), std::string(note(claim, "owner")),
                                    short_duration(now - time_at(claim, {"metadata", "creationTimestamp"}))};
    if (with_namespace) row.insert(row.begin() + 1, std::string(json::string_at(claim, {"metadata", "namespace"})));
    table.row(std::move(row));
  }
  return table.text();
}

json::Value claims_json(const std::vector<json::Value>& claims, WallTime now) {
  json::Array all;
  for (const json::Value& claim : claims)
    all.push_back(json::Object{{"name", json::string_at(claim, {"metadata", "name"})},
                               {"namespace", json::string_at(claim, {"metadata", "namespace"})},
                               {"accessMode", access_modes(claim)},
                               {"description", note(claim, "description")},
                               {"owner", note(claim, "owner")},
                               {"age", short_duration(now - time_at(claim, {"metadata", "creationTimestamp"}))}});
  return all;
}

Result<Instance> log_instance(const JobView& job, const std::string& wanted) {
  std::vector<std::string> names;
  for (const Instance& instance : job.instances) {
    if (instance.name == wanted) return instance;
    names.push_back(instance.name);
  }
  if (!wanted.empty())
    return bad_request(fmt::format("instance {} of job {} is not there; `arena get {}` shows those that are", wanted,
                                   job.name, job.name));
  if (names.empty()) return bad_request(fmt::format("job {} has no instances yet ({})", job.name, job.status));
  if (names.size() == 1) return job.instances.front();
  if (job.chief() != nullptr) return *job.chief();
  return bad_request(fmt::format("job {} has several instances: {}; please use '-i' or '--instance' to filter.",
                                 job.name, fmt::join(names, ", ")));
}

Result<EarlierPod> earlier_pod(const Instance& instance, std::int64_t attempt, const std::vector<json::Value>& events) {
  // Names that end in letters, those of launchers, are others in every attempt.
  const auto place_of = [](std::string_view name) {
    const std::string_view end = name.substr(name.rfind('-') + 1);
    const bool is_index = end.find_first_not_of("0123456789") == std::string_view::npos;
    return is_index ? name : name.substr(0, name.rfind('-'));
  };
  std::vector<EarlierPod> pods;
  for (const json::Value& event : events) {
    const std::string_view name = json::string_at(event, {"involvedObject", "name"});
    const std::string_view uid = json::string_at(event, {"involvedObject", "uid"});
    const std::string_view message = json::string_at(event, {"message"});
    constexpr std::string_view kTo = " to ";
    const std::size_t to = message.rfind(kTo);
    if (json::string_at(event, {"reason"}) != "Scheduled" || place_of(name) != place_of(instance.name)) continue;
    if (to == std::string_view::npos) continue;
    const bool is_known = std::any_of(pods.begin(), pods.end(), [&](const EarlierPod& pod) { return pod.uid == uid; });
    if (!is_known) pods.push_back({std::string(name), std::string(uid), std::string(message.substr(to + kTo.size()))});
  }
  if (attempt >= 1 && attempt <= static_cast<std::int64_t>(pods.size()))
    return pods[static_cast<std::size_t>(attempt) - 1];
  return bad_request(fmt::format("--attempt: {} is not known of {}; events tell of {} of its attempts", attempt,
                                 instance.name, pods.size()));
}

Result<std::string> log_query(const LogFlags& flags, const json::Value& pod) {
  std::vector<std::string> parts;
  if (flags.follow) parts.emplace_back("follow=true");
  if (flags.timestamps) parts.emplace_back("timestamps=true");
  if (flags.tail > 0) parts.push_back(fmt::format("tailLines={}", flags.tail));
  std::string container = flags.container;
  if (container.empty() && is_initialising(pod)) container = "init-code";
  if (!container.empty()) parts.push_back("container=" + sys::percent_encode(container));
  if (!flags.since.empty()) {
    GW_TRY(const std::int64_t seconds, since_seconds(flags.since));
    parts.push_back(fmt::format("sinceSeconds={}", seconds));
  }
  if (!flags.since_time.empty()) {
    if (!flags.since.empty()) return bad_request("--since and --since-time cannot be used together");
    if (!parse_rfc3339(flags.since_time))
      return bad_request(
          fmt::format("--since-time: must be a time as 2026-01-02T03:04:05Z (got {})", flags.since_time));
    parts.push_back("sinceTime=" + sys::percent_encode(flags.since_time));
  }
  if (flags.attempt) {
    const std::int64_t first = instance_of(pod).attempt;
    const std::int64_t newest = first + restarts_of(pod, flags.container);
    if (*flags.attempt == newest - 1 && newest > first) {
      parts.emplace_back("previous=true");
    } else if (*flags.attempt != newest) {
      const std::string kept = newest > first ? fmt::format("{} and {}", newest - 1, newest) : std::to_string(newest);
      return bad_request(fmt::format("--attempt: the log of attempt {} of {} is not kept; there is that of {}",
                                     *flags.attempt, json::string_at(pod, {"metadata", "name"}), kept));
    }
  }
  std::string query;
  for (const std::string& part : parts) query += (query.empty() ? "?" : "&") + part;
  return query;
}

}  // namespace gangway::cli::arena
