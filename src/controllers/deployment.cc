#include "controllers/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "api/owner.h"
#include "client/resource.h"
#include "controllers/deployment_facts.h"
#include "controllers/deployment_sets.h"
#include "controllers/deployment_status.h"
#include "controllers/owned.h"
#include "controllers/pods.h"
#include "controllers/rollout.h"

namespace gangway::controllers {
namespace {

using client::Outcome;
using client::View;
using client::resources::kDeployments;
using client::resources::kPods;
using client::resources::kReplicaSets;

Sizes present_sizes(const DeploymentLook& look) {
  Sizes sizes;
  for (const OwnedSet& set : look.sets) sizes.push_back(set.facts->size);
  return sizes;
}

// Recreate waits for the last pod of the old sets, also for those that are only being deleted.
bool has_old_pods(const DeploymentLook& look, const View& view) {
  bool found = false;
  for (std::size_t i = 0; i < look.sets.size() && !found; ++i) {
    if (look.newest == i) continue;
    found = look.sets[i].facts->actual > 0;
    view.objects(kPods).for_each_owned_by(look.sets[i].object.header->uid, [&](const api::Version& pod) {
      found = found || !is_finished(*pod_facts(view, pod));
    });
  }
  return found;
}

struct Step {
  Sizes sizes;
  bool create = false;  // the new set is due
};

Step recreate(const DeploymentLook& look, const View& view) {
  Step step{present_sizes(look)};
  bool shrinks = false;
  for (std::size_t i = 0; i < look.sets.size(); ++i) {
    if (look.newest == i || step.sizes[i] == 0) continue;
    step.sizes[i] = 0;
    shrinks = true;
  }
  if (shrinks || has_old_pods(look, view)) return step;
  step.create = !look.newest;
  if (look.newest) step.sizes[*look.newest] = look.spec.replicas;
  return step;
}

Step next_step(const DeploymentLook& look, const View& view, bool scales) {
  if (scales) {
    const std::int64_t counted = json::integer_at(look.tree, {"status", "replicas"});
    return {scale(look.spec, look.numbers(), counted)};
  }
  if (!look.spec.rolling) return recreate(look, view);
  if (!look.newest) return {present_sizes(look), true};
  return {roll(look.spec, look.numbers())};
}

// Sets of one template are told apart by its hash. Where the name is taken by something else, the hash is another.
void count_collision(const DeploymentLook& look, Outcome& outcome) {
  outcome.allowed_now.push_back(
      client::PatchStatus{client::target_of(kDeployments, look.object),
                          json::Object{{"status", json::Object{{"collisionCount", look.collisions + 1}}}}});
}

void make_new_set(const DeploymentLook& look, const Owner& owner, const View& view, Outcome& outcome) {
  const std::string name = name_of_new_set(look);
  if (view.objects(kReplicaSets).contains({look.object.header->name.ns, name})) return count_collision(look, outcome);
  outcome.allowed_now.push_back(create_set(look, owner, first_size(look.spec, look.numbers())));
  for (const client::Setback& setback : view.setbacks()) {
    if (setback.verb != "create" || setback.resource != kReplicaSets || setback.error.reason == Reason::kTimeout)
      continue;
    StatusQuestion question{
        .create_error = fmt::format("Failed to create new replica set \"{}\": {}", name, setback.error.message)};
    return write_status(look, question, view.now(), outcome);
  }
}

struct StrategyFacts {
  bool recreates = false;
};

StrategyFacts read_strategy(const api::Version& deployment) {
  const auto tree = json::parse(*deployment.json);
  return {tree && json::string_at(*tree, {"spec", "strategy", "type"}) == "Recreate"};
}

// Only a Deployment that waits for pods to go needs to know that they do.
void deployments_waiting_for(const client::ObjectChange& change, const View& view, const client::KeySink& sink) {
  const bool is_gone = change.type == client::ObjectChange::Type::kDeleted;
  if (!is_gone && !is_finished(*pod_facts(view, change.now))) return;
  const auto* set_reference = api::controller_of(*change.now.header);
  if (set_reference == nullptr || set_reference->kind != "ReplicaSet") return;
  const std::string& ns = change.now.header->name.ns;
  const api::Version set = view.get(kReplicaSets, {ns, set_reference->name});
  const auto* reference = set ? api::controller_of(*set.header) : nullptr;
  if (reference == nullptr || reference->kind != "Deployment") return;
  const api::Version deployment = view.get(kDeployments, {ns, reference->name});
  if (deployment && view.objects(kDeployments).facts<StrategyFacts>(deployment, read_strategy)->recreates)
    sink(client::key_of(kDeployments, deployment.header->name), client::WorkQueue::Priority::kNormal);
}

}  // namespace

std::vector<client::WatchRule> DeploymentController::watches() const {
  return {{.resource = kDeployments, .keys = client::itself(kDeployments)},
          {.resource = kReplicaSets, .keys = its_owners(kDeployments, "Deployment")},
          {.resource = kPods, .keys = deployments_waiting_for}};
}

Outcome DeploymentController::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version object = view.get(kDeployments, key.object);
  if (!object) return outcome;
  const Owner owner{kDeployments, "Deployment", object};
  Claims claims = claim(view, kReplicaSets, owner, *selector_of(view, kDeployments, object));
  if (!claims.actions.empty()) {
    outcome.allowed_now = std::move(claims.actions);
    return outcome;
  }
  std::vector<OwnedSet> sets;
  for (api::Version& set : claims.held) sets.push_back(owned_set(view, std::move(set)));
  const auto look = read_deployment(object, std::move(sets));
  if (!look) return outcome;
  if (is_terminating(object)) {
    write_status(*look, {.judge_progress = false}, view.now(), outcome);
    return outcome;
  }

  const bool scales = look->paused || is_scaling(look->spec, look->numbers());
  const Step step = next_step(*look, view, scales);
  if (step.create) {
    make_new_set(*look, owner, view, outcome);
    return outcome;
  }
  outcome.allowed_now = edit_sets(*look, owner, step.sizes);
  const bool is_through = !scales && outcome.allowed_now.empty() && is_complete(*look, count(*look));
  if (look->paused || is_through) {
    for (client::Action& removal : remove_history(*look)) outcome.allowed_now.push_back(std::move(removal));
  }
  write_status(*look, {.judge_progress = !scales}, view.now(), outcome);
  return outcome;
}

}  // namespace gangway::controllers
