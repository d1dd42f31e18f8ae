#include "rehearsal.h"

#include <fmt/format.h>

#include "cli/arena/job_type.h"
#include "client/decode.h"
#include "client/resource.h"
#include "scheduler/allotment.h"

namespace gangway {

using client::resources::kPersistentVolumeClaims;
using client::resources::kPods;

Result<void> Rehearsal::add(const cli::Manifest& manifest) {
  const std::string what = fmt::format("{} {}/{}", manifest.kind, manifest.ns, manifest.name);
  if (!manifest.resource) {
    notes_.push_back(what + " is not placed, and was left out");
    return {};
  }
  auto stored = connection_.dry_run_create(*manifest.resource, manifest.ns, manifest.object);
  if (!stored && stored.error().reason == Reason::kAlreadyExists)
    return bad_request(fmt::format("{} exists already; `gangway explain {} {} -n {}` says how it stands", what,
                                   cli::arena::lower(manifest.kind), manifest.name, manifest.ns));
  // A namespace that is not there is named in the answer; a kind that is not served is not.
  if (!stored && stored.error().reason == Reason::kNotFound && stored.error().subject.name.empty())
    return bad_request(fmt::format("{}: the server does not serve {} of {}", what, manifest.resource->plural,
                                   client::api_version(*manifest.resource)));
  if (!stored) return std::move(stored.error()).within(what);
  if (manifest.kind == "Pod") return keep_pod(std::move(*stored));
  GW_CHECKED(keep(*manifest.resource, *stored));
  return add_made_by(*stored, manifest.ns, what);
}

Result<void> Rehearsal::add_made_by(const json::Value& workload, const std::string& ns, const std::string& what) {
  const cli::PodsToBe made = cli::pods_made_by(workload);
  if (!made.note.empty()) notes_.push_back(what + ": " + made.note);
  for (const auto& [resource, objects] :
       {std::pair{scheduler::kPodGroups, &made.groups}, std::pair{kPersistentVolumeClaims, &made.claims}}) {
    for (const json::Value& object : *objects) {
      auto answer = connection_.dry_run_create(resource, ns, object);
      // One of that name is used as it is.
      if (!answer && answer.error().reason == Reason::kAlreadyExists) continue;
      if (!answer) return std::move(answer.error()).within(what);
      GW_CHECKED(keep(resource, *answer));
    }
  }
  for (const json::Value& pod : made.pods) {
    auto answer = connection_.dry_run_create(kPods, ns, pod);
    if (!answer) return std::move(answer.error()).within(what);
    GW_CHECKED(keep_pod(std::move(*answer)));
  }
  return {};
}

Result<void> Rehearsal::keep(const client::Resource& resource, const json::Value& object) {
  GW_TRY(auto version, client::encode_object(object));
  objects_.of(resource).put(std::move(version));
  return {};
}

Result<void> Rehearsal::keep_pod(json::Value pod) {
  json::Object& metadata = json::object_at(pod, {"metadata"});
  // Objects that are not stored may have none; the planner tells pods apart by it.
  if (!metadata.contains("uid"))
    metadata["uid"] = fmt::format("{}/{}", json::string_at(pod, {"metadata", "namespace"}),
                                  json::string_at(pod, {"metadata", "name"}));
  GW_TRY(auto version, client::encode_object(pod, {"spec.nodeName", "status.phase"}));
  pods_.insert(version.header->name);
  objects_.of(kPods).put(std::move(version));
  return {};
}

}  // namespace gangway
