#include "controllers/ttl_after_finished.h"

#include <optional>

#include "api/conditions.h"
#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::Delete;
using client::Outcome;
using client::View;
using client::resources::kJobs;

std::optional<WallTime> finished_at(const json::Value& job) {
  for (const char* type : {"Complete", "Failed"}) {
    const json::Object* found = api::find_condition(job, type);
    if (found == nullptr) continue;
    const json::Value condition(*found);
    const auto since = parse_rfc3339(json::string_at(condition, {"lastTransitionTime"}));
    if (since && json::string_at(condition, {"status"}) == "True") return *since;
  }
  return std::nullopt;
}

}  // namespace

std::vector<client::WatchRule> TtlAfterFinished::watches() const {
  return {{.resource = kJobs, .keys = client::itself(kJobs)}};
}

Outcome TtlAfterFinished::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version job = view.get(kJobs, key.object);
  if (!job || job.header->deleting_since) return outcome;
  const auto tree = json::parse(*job.json);
  const json::Value* seconds = tree ? json::find(*tree, {"spec", "ttlSecondsAfterFinished"}) : nullptr;
  if (seconds == nullptr || seconds->is_null()) return outcome;
  const auto finished = finished_at(*tree);
  if (!finished) return outcome;
  const WallTime due = *finished + std::chrono::seconds(json::integer_at(*seconds, {}));
  if (due > view.now()) {
    outcome.look_again(due);
  } else {
    // The revision too: whoever has just made the time longer is heard.
    outcome.allowed_now.push_back(Delete{client::target_of(kJobs, job), client::Propagation::kForeground});
  }
  return outcome;
}

}  // namespace gangway::controllers
