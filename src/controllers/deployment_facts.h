// A Deployment as one look sees it: its spec in numbers, and its ReplicaSets. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/object.h"
#include "controllers/replica_set_facts.h"
#include "controllers/rollout.h"
#include "json/value.h"

namespace gangway::controllers {

struct DeploymentLook {
  api::Version object;
  json::Value tree;
  RolloutSpec spec;
  bool paused = false;
  std::optional<std::int64_t> deadline;  // progressDeadlineSeconds, when there is one
  std::optional<std::size_t> history_limit;
  std::int64_t collisions = 0;
  std::string pod_template;  // canonical
  std::vector<OwnedSet> sets;
  std::optional<std::size_t> newest;  // of the current template

  const std::string& name() const { return object.header->name.name; }
  const OwnedSet* newest_set() const { return newest ? &sets[*newest] : nullptr; }
  std::vector<RolloutSet> numbers() const;
  // The highest revision of the sets that are not of the current template.
  std::int64_t last_old_revision() const;
};

// `sets` are those it manages. None when the object cannot be read.
std::optional<DeploymentLook> read_deployment(const api::Version& object, std::vector<OwnedSet> sets);

}  // namespace gangway::controllers
