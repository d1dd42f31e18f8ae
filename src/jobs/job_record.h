// JobRecord: what the status of a job remembers, so that no step is taken twice. A pure value.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "json/value.h"

namespace gangway::jobs {

struct JobRecord {
  std::int64_t attempt = 1;
  std::int64_t restarts = 0;
  std::set<std::string> replaced;  // uids of pods that are counted as restarts
  std::optional<WallTime> queued_again;
  std::string ended_by;
  std::optional<WallTime> started;
  std::optional<WallTime> completed;
  std::int64_t active = 0;  // pods of all types; read only
};

JobRecord read_job_record(const json::Value& job);
// Writes it into a status.
void write_job_record(const JobRecord& record, json::Object& status);

// A time as objects have it; nothing when there is none.
std::optional<WallTime> time_at(const json::Value& object, std::initializer_list<std::string_view> path);

}  // namespace gangway::jobs
