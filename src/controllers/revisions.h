// The history of a workload as ControllerRevisions: one for each pod template that it has had. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/object.h"
#include "client/action.h"
#include "client/view.h"
#include "controllers/owned.h"
#include "json/value.h"

namespace gangway::controllers {

struct Revision {
  api::Version object;
  std::int64_t number = 0;
  std::string content;  // canonical

  const std::string& name() const { return object.header->name.name; }
};

// In the order of their numbers.
std::vector<Revision> read_revisions(const client::View& view, std::vector<api::Version> objects);

// What a revision of this workload holds: a strategic merge patch that restores its pod template, for `kubectl rollout
// undo`.
json::Value revision_content(const json::Value& workload);
// The pod template in it; null when it holds none.
json::Value template_of(const Revision& revision);

// The revision that `workload` is at, or what has to happen first.
struct CurrentRevision {
  std::optional<std::size_t> index;     // among `known`
  std::vector<client::Action> actions;  // one is made, or an old one becomes the newest
  bool collides = false;                // the name it would have is taken: count a collision, and look again
};
CurrentRevision find_revision(const client::View& view, const Owner& owner, const json::Value& workload,
                              const std::vector<Revision>& known, std::int64_t collisions);

// Deletes the oldest beyond `limit` of those that are not in use.
std::vector<client::Action> truncate_history(const std::vector<Revision>& known, const std::set<std::string>& in_use,
                                             std::size_t limit);

}  // namespace gangway::controllers
