// Usage: what users, namespaces, priorities or jobs have had of the GPUs, for `gangway usage`. Pure.
//
// The records tell of pods that are gone, the pods of themselves. Records and pods are listed one after the other; a
// pod that went in between is counted once, because its record names the uids that it has counted last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/value.h"
#include "scheduler/accounting.h"

namespace gangway::scheduler {

enum class UsageBy : std::uint8_t { kUser, kNamespace, kPriority, kJob };
// "user", "namespace", "priority", "job"
std::optional<UsageBy> usage_by_word(std::string_view word);

struct UsageLine {
  std::string who;  // a job as "namespace/Kind/name"
  std::int64_t used_gpu_seconds = 0;
  std::int64_t waited_gpu_seconds = 0;
  std::int64_t lost_gpu_seconds = 0;
  std::int64_t preemptions = 0;
  bool operator==(const UsageLine&) const = default;
};

struct UsageQuestion {
  UsageBy by = UsageBy::kUser;
  WallTime since = {};
  WallTime now = {};
  bool knows_users = true;  // false: what pods say about who made them is anybody's word
};

// Whoever used most comes first. `pods` name their jobs as people know them (shown_job).
std::vector<UsageLine> usage_of(const std::vector<Account>& accounts, const std::vector<PodUsage>& pods,
                                const UsageQuestion& question);

// In GPU-hours, for people.
std::string usage_table(const std::vector<UsageLine>& lines, UsageBy by);
// In GPU-seconds, for programs.
json::Value usage_json(const std::vector<UsageLine>& lines, const UsageQuestion& question);

}  // namespace gangway::scheduler
