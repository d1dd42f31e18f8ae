// What a Job's policies say about how its pods ended. Pure functions on the Job's document.
#pragma once

#include <optional>
#include <string>

#include "controllers/index_set.h"
#include "controllers/job_pod.h"
#include "json/value.h"

namespace gangway::controllers {

// spec.podFailurePolicy, applied to one failed pod.
struct FailureVerdict {
  enum class Action : std::uint8_t { kNone, kIgnore, kCount, kFailIndex, kFailJob };
  Action action = Action::kNone;  // none of the rules matched
  std::string message;            // of kFailJob

  bool is_counted() const { return action != Action::kIgnore; }
};
FailureVerdict judge_failure(const json::Value& job, const JobPod& pod);

// spec.successPolicy: which rule is fulfilled, in the words of the condition; none for a Job without, or not yet.
std::optional<std::string> fulfilled_success_rule(const json::Value& job, std::int64_t completions,
                                                  const IndexSet& succeeded);

// How long to wait after the last of `failures` in a row before the next attempt: 10 s, doubling, 6 min at most.
Duration backoff_after(std::int64_t failures);

}  // namespace gangway::controllers
