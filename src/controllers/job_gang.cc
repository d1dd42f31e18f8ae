#include "controllers/job_gang.h"

#include "api/gang.h"

namespace gangway::controllers {

bool is_gang(const json::Value& job) {
  // A template that names a group has one.
  for (const std::string_view label : {api::kPodGroupLabel, api::kOldPodGroupLabel})
    if (!json::string_at(job, {"spec", "template", "metadata", "labels", label}).empty()) return false;
  if (const auto choice = api::gang_choice(job)) return *choice;
  const std::int64_t at_once = json::integer_at(job, {"spec", "parallelism"}, 1);
  return json::string_at(job, {"spec", "completionMode"}) == "Indexed" && at_once > 1 &&
         json::integer_at(job, {"spec", "completions"}) == at_once;
}

}  // namespace gangway::controllers
