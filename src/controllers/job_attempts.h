// Which pods a Job needs next and which are too many. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "controllers/job_state.h"
#include "json/value.h"

namespace gangway::controllers {

// The failures of a Job's pods since one succeeded. Pods that failed may be deleted, and must have failed all the same:
// whoever keeps this from look to look remembers them.
class FailureHistory {
 public:
  void observe(const JobState& job);
  // When the next pod may be made: never in the past of the last failure's back-off. None while nothing failed.
  std::optional<WallTime> next_attempt() const;

 private:
  std::map<std::string, WallTime> failures_;  // by uid
  std::optional<WallTime> last_success_;
};

// How many pods should be active.
std::int64_t wanted_active(const JobState& job, const JobTally& tally);
// Those to be deleted: more than are wanted, of an index that another one runs, of no index.
std::vector<const JobPod*> surplus_pods(const JobState& job, const JobTally& tally, std::int64_t wanted, WallTime now);

// A pod of an Indexed Job that is to be made.
struct IndexAttempt {
  std::int64_t index = 0;
  const JobPod* after = nullptr;  // the failed one that it replaces, with a back-off limit per index
};
struct IndexPlan {
  std::vector<IndexAttempt> now;
  std::optional<WallTime> later;  // when the first of the others may be made
};
IndexPlan next_indexes(const JobState& job, const JobTally& tally, std::int64_t count, WallTime now);

// The pod of the template, with what makes it one of the Job's.
json::Value job_pod(const JobState& job, const std::string& name);
json::Value indexed_job_pod(const JobState& job, const std::string& name, const IndexAttempt& attempt);
// A name that no pod of the index has. The same until a pod by that name is there, so that repeating it is harmless.
std::string indexed_pod_name(const JobState& job, std::int64_t index);

}  // namespace gangway::controllers
