// What a Deployment writes to its ReplicaSets: a new one, new sizes, revisions and the annotations that go with them.
// Pure: yields actions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/action.h"
#include "controllers/deployment_facts.h"
#include "controllers/owned.h"
#include "controllers/rollout.h"

namespace gangway::controllers {

// "<deployment>-<hash>": the set of the current template.
std::string name_of_new_set(const DeploymentLook& look);
client::Create create_set(const DeploymentLook& look, const Owner& owner, std::int64_t size);

// One patch for each set whose size, revision or annotations should be others.
std::vector<client::Action> edit_sets(const DeploymentLook& look, const Owner& owner, const Sizes& sizes);

// The old sets that are empty and beyond the history's limit, those of the lowest revisions first.
std::vector<client::Action> remove_history(const DeploymentLook& look);

}  // namespace gangway::controllers
