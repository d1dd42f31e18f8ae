#include "jobs/job_record.h"

#include <algorithm>
#include <utility>

namespace gangway::jobs {
namespace {

void put_time(json::Object& object, std::string_view key, const std::optional<WallTime>& time) {
  if (time) {
    object[key] = to_rfc3339(*time);
  } else {
    object.erase(key);
  }
}

}  // namespace

std::optional<WallTime> time_at(const json::Value& object, std::initializer_list<std::string_view> path) {
  const auto time = parse_rfc3339(json::string_at(object, path));
  if (!time) return std::nullopt;
  return *time;
}

JobRecord read_job_record(const json::Value& job) {
  JobRecord record;
  record.attempt = std::max<std::int64_t>(1, json::integer_at(job, {"status", "gangway", "attempt"}, 1));
  record.restarts = json::integer_at(job, {"status", "gangway", "restarts"});
  for (const json::Value& uid : json::array_at(job, {"status", "gangway", "replaced"}))
    record.replaced.emplace(json::string_at(uid, {}));
  record.queued_again = time_at(job, {"status", "gangway", "queuedAgainAt"});
  record.ended_by = json::string_at(job, {"status", "gangway", "endedBy"});
  record.started = time_at(job, {"status", "startTime"});
  record.completed = time_at(job, {"status", "completionTime"});
  for (const auto& [type, counts] : json::map_at(job, {"status", "replicaStatuses"}))
    record.active += json::integer_at(counts, {"active"});
  return record;
}

void write_job_record(const JobRecord& record, json::Object& status) {
  json::Object own{{"attempt", record.attempt}};
  if (record.restarts > 0) own["restarts"] = record.restarts;
  if (!record.replaced.empty()) own["replaced"] = json::Array(record.replaced.begin(), record.replaced.end());
  // A preemption of the same second may be a later one.
  if (record.queued_again) own["queuedAgainAt"] = to_rfc3339_micro(*record.queued_again);
  if (!record.ended_by.empty()) own["endedBy"] = record.ended_by;
  status["gangway"] = std::move(own);
  put_time(status, "startTime", record.started);
  put_time(status, "completionTime", record.completed);
}

}  // namespace gangway::jobs
