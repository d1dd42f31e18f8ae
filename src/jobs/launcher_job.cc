#include "jobs/launcher_job.h"

#include <charconv>
#include <utility>

#include "api/conditions.h"
#include "api/gang.h"
#include "api/owner.h"
#include "client/resource.h"
#include "jobs/job_record.h"

namespace gangway::jobs {

std::int64_t attempt_of(const json::Value& object) {
  const std::string_view text = json::string_at(object, {"metadata", "annotations", api::kAttempt});
  std::int64_t number = 1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

api::Version own_object(const client::View& view, const controllers::Owner& owner, const client::Resource& resource,
                        const std::string& name, json::Value& tree) {
  const api::Header& self = *owner.object.header;
  api::Version found = view.get(resource, {self.name.ns, name});
  if (!found || !api::is_owned_by(*found.header, self.uid)) return {};
  auto parsed = json::parse(*found.json);
  if (!parsed) return {};
  tree = std::move(*parsed);
  return found;
}

LauncherJob read_launcher_job(const client::View& view, const controllers::Owner& owner, const std::string& name) {
  LauncherJob launcher;
  json::Value tree;
  launcher.object = own_object(view, owner, client::resources::kJobs, name, tree);
  if (!launcher.object) return launcher;
  launcher.attempt = attempt_of(tree);
  launcher.is_active = json::integer_at(tree, {"status", "active"}) > 0;
  launcher.is_launched = json::integer_at(tree, {"status", "ready"}) > 0;
  launcher.has_succeeded = api::condition_is_true(tree, "Complete");
  launcher.has_failed = api::condition_is_true(tree, "Failed");
  launcher.started = time_at(tree, {"status", "startTime"});
  for (const char* type : {"Complete", "Failed"}) {
    const json::Object* found = api::find_condition(tree, type);
    if (found == nullptr || !api::condition_is_true(tree, type)) continue;
    const json::Value condition(*found);
    launcher.ended = time_at(condition, {"lastTransitionTime"});
    launcher.reason = json::string_at(condition, {"reason"});
    launcher.message = json::string_at(condition, {"message"});
  }
  if (const auto at = time_at(tree, {"status", "completionTime"})) launcher.ended = at;
  return launcher;
}

std::optional<client::Action> remove_whole(const client::Resource& resource, const api::Version& object) {
  if (!object || object.header->deleting_since) return std::nullopt;
  return client::Delete{client::target_by_uid(resource, object), client::Propagation::kForeground};
}

}  // namespace gangway::jobs
