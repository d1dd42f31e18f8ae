#include "controllers/deployment_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "api/owner.h"
#include "client/resource.h"
#include "controllers/template_hash.h"
#include "json/pointer.h"

namespace gangway::controllers {
namespace {

using client::resources::kReplicaSets;
using Texts = std::map<std::string, std::string, std::less<>>;

constexpr std::size_t kLongestHistory = 2000;

// Annotations that mean something else on a ReplicaSet, or nothing.
bool is_copied(std::string_view key) {
  constexpr std::string_view kOwn[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                       "deprecated.deployment.rollback.to",
                                       annotations::kRevision,
                                       annotations::kRevisionHistory,
                                       annotations::kDesired,
                                       annotations::kMost};
  return std::find(std::begin(kOwn), std::end(kOwn), key) == std::end(kOwn);
}

Texts copied_annotations(const DeploymentLook& look) {
  Texts copied;
  for (const auto& entry : json::map_at(look.tree, {"metadata", "annotations"}))
    if (is_copied(entry.key()) && entry.value().is_string())
      copied.emplace(std::string(entry.key()), std::string(entry.value().get_string()));
  return copied;
}

void remember_size(const DeploymentLook& look, Texts& texts) {
  texts[std::string(annotations::kDesired)] = std::to_string(look.spec.replicas);
  texts[std::string(annotations::kMost)] = std::to_string(look.spec.most());
}

// The revisions that a set had before, with one more; the oldest are dropped when it gets long.
std::string longer_history(std::string history, std::string_view revision) {
  if (history.empty()) return std::string(revision);
  history += ",";
  history += revision;
  while (history.size() > kLongestHistory) {
    const auto comma = history.find(',');
    if (comma == std::string::npos) break;
    history.erase(0, comma + 1);
  }
  return history;
}

// A set that becomes the current one again is of the newest revision; what it was before is kept.
void raise_revision(const DeploymentLook& look, const ReplicaSetFacts& newest, Texts& texts) {
  const std::int64_t wanted = look.last_old_revision() + 1;
  const std::string_view known = newest.annotation(annotations::kRevision);
  if (!known.empty() && !newest.number(annotations::kRevision)) return;  // not ours to understand
  if (newest.revision() >= wanted) return;
  texts[std::string(annotations::kRevision)] = std::to_string(wanted);
  if (!known.empty())
    texts[std::string(annotations::kRevisionHistory)] =
        longer_history(std::string(newest.annotation(annotations::kRevisionHistory)), known);
}

json::Object step(const char* operation, std::string path, json::Value value) {
  return {{"op", operation}, {"path", std::move(path)}, {"value", std::move(value)}};
}

struct Edit {
  Texts annotations;
  std::optional<std::int64_t> size;
  std::optional<std::int64_t> min_ready;
};

// A JSON patch: it tests the size it was decided on, and nothing that the set's own status changes.
json::Array patch_of(const OwnedSet& set, const Edit& edit) {
  json::Array patch;
  if (edit.size) {
    patch.push_back(step("test", "/spec/replicas", set.facts->size));
    patch.push_back(step("replace", "/spec/replicas", *edit.size));
  }
  if (edit.min_ready) patch.push_back(step("add", "/spec/minReadySeconds", *edit.min_ready));
  bool has_annotations = !set.facts->annotations.empty();
  for (const auto& [key, value] : edit.annotations) {
    if (set.facts->annotation(key) == value) continue;
    if (!std::exchange(has_annotations, true)) patch.push_back(step("add", "/metadata/annotations", json::Object()));
    patch.push_back(step("add", json::Pointer({"metadata", "annotations", key}).to_string(), json::Value(value)));
  }
  return patch;
}

client::Emit scaling_event(const Owner& owner, const std::string& set, std::int64_t from, std::int64_t to) {
  return {owner.subject(), client::EventType::kNormal, "ScalingReplicaSet",
          fmt::format("Scaled {} replica set {} from {} to {}", from < to ? "up" : "down", set, from, to)};
}

}  // namespace

std::string name_of_new_set(const DeploymentLook& look) {
  return look.name() + "-" + short_hash(look.pod_template, look.collisions);
}

client::Create create_set(const DeploymentLook& look, const Owner& owner, std::int64_t size) {
  const std::string hash = short_hash(look.pod_template, look.collisions);
  const std::string name = name_of_new_set(look);
  json::Value pod_template = *json::find(look.tree, {"spec", "template"});
  json::object_at(pod_template, {"metadata", "labels"})[kPodTemplateHash] = hash;
  const json::Value* selector = json::find(look.tree, {"spec", "selector"});
  json::Value narrowed = selector == nullptr ? json::Value(json::Object()) : *selector;
  json::object_at(narrowed, {"matchLabels"})[kPodTemplateHash] = hash;

  Texts texts = copied_annotations(look);
  texts[std::string(annotations::kRevision)] = std::to_string(look.last_old_revision() + 1);
  remember_size(look, texts);
  json::Object noted;
  for (const auto& [key, value] : texts) noted[key] = value;
  json::Object metadata{{"name", name},
                        {"namespace", look.object.header->name.ns},
                        {"labels", pod_template.at("metadata").at("labels")},
                        {"annotations", std::move(noted)},
                        {"ownerReferences", json::Array{api::to_json(owner.reference())}}};
  json::Object spec{{"replicas", size}, {"selector", std::move(narrowed)}, {"template", std::move(pod_template)}};
  if (const std::int64_t seconds = json::integer_at(look.tree, {"spec", "minReadySeconds"}); seconds != 0)
    spec["minReadySeconds"] = seconds;
  client::Create action{kReplicaSets, look.object.header->name.ns,
                        json::Object{{"apiVersion", "apps/v1"},
                                     {"kind", "ReplicaSet"},
                                     {"metadata", std::move(metadata)},
                                     {"spec", std::move(spec)}},
                        look.object.header->uid};
  if (size > 0) action.announce.done = scaling_event(owner, name, 0, size);
  action.announce.failed = client::Emit{owner.subject(), client::EventType::kWarning, "ReplicaSetCreateError",
                                        fmt::format("Failed to create new replica set \"{}\": ", name)};
  return action;
}

std::vector<client::Action> edit_sets(const DeploymentLook& look, const Owner& owner, const Sizes& sizes) {
  std::vector<client::Action> actions;
  for (std::size_t i = 0; i < look.sets.size(); ++i) {
    const OwnedSet& set = look.sets[i];
    Edit edit;
    if (look.newest == i) {
      edit.annotations = copied_annotations(look);
      raise_revision(look, *set.facts, edit.annotations);
      const std::int64_t seconds = json::integer_at(look.tree, {"spec", "minReadySeconds"});
      if (set.facts->min_ready_seconds != seconds) edit.min_ready = seconds;
    }
    if (sizes[i] != set.facts->size) edit.size = sizes[i];
    const bool is_dated = sizes[i] > 0 && set.facts->number(annotations::kDesired) != look.spec.replicas;
    if (edit.size || is_dated) remember_size(look, edit.annotations);
    json::Array patch = patch_of(set, edit);
    if (patch.empty()) continue;
    client::Patch action{client::target_by_uid(kReplicaSets, set.object), std::move(patch), client::PatchType::kJson};
    if (edit.size) action.announce.done = scaling_event(owner, set.name(), set.facts->size, *edit.size);
    actions.push_back(std::move(action));
  }
  return actions;
}

std::vector<client::Action> remove_history(const DeploymentLook& look) {
  std::vector<client::Action> actions;
  if (!look.history_limit) return actions;
  std::vector<const OwnedSet*> old;
  for (std::size_t i = 0; i < look.sets.size(); ++i)
    if (look.newest != i && !look.sets[i].object.header->deleting_since) old.push_back(&look.sets[i]);
  if (old.size() <= *look.history_limit) return actions;
  const auto age = [](const OwnedSet* set) {
    return std::make_tuple(set->facts->revision(), set->object.header->created, set->name());
  };
  std::sort(old.begin(), old.end(), [&](const OwnedSet* a, const OwnedSet* b) { return age(a) < age(b); });
  old.resize(old.size() - *look.history_limit);
  for (const OwnedSet* set : old) {
    const bool is_observed = set->facts->observed_generation >= set->object.header->generation;
    if (set->facts->size == 0 && set->facts->actual == 0 && is_observed)
      actions.push_back(client::Delete{client::target_of(kReplicaSets, set->object)});
  }
  return actions;
}

}  // namespace gangway::controllers
