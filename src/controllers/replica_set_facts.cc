#include "controllers/replica_set_facts.h"

#include <algorithm>
#include <utility>

#include "api/conditions.h"
#include "client/resource.h"
#include "controllers/int_or_percent.h"
#include "controllers/template_hash.h"

namespace gangway::controllers {

std::string_view ReplicaSetFacts::annotation(std::string_view key) const {
  const auto at = std::lower_bound(annotations.begin(), annotations.end(), key,
                                   [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
  return at == annotations.end() || at->first != key ? std::string_view() : std::string_view(at->second);
}

std::optional<std::int64_t> ReplicaSetFacts::number(std::string_view key) const {
  return parse_number(annotation(key));
}

ReplicaSetFacts read_replica_set(const api::Version& set) {
  ReplicaSetFacts facts;
  const auto tree = json::parse(*set.json);
  if (!tree) return facts;
  facts.size = json::integer_at(*tree, {"spec", "replicas"}, 1);
  facts.min_ready_seconds = json::integer_at(*tree, {"spec", "minReadySeconds"});
  facts.actual = json::integer_at(*tree, {"status", "replicas"});
  facts.ready = json::integer_at(*tree, {"status", "readyReplicas"});
  facts.available = json::integer_at(*tree, {"status", "availableReplicas"});
  facts.observed_generation = json::integer_at(*tree, {"status", "observedGeneration"});
  if (const json::Value* pod_template = json::find(*tree, {"spec", "template"}))
    facts.pod_template = canonical_template(*pod_template);
  for (const auto& entry : json::map_at(*tree, {"metadata", "annotations"}))
    if (entry.value().is_string()) facts.annotations.emplace_back(entry.key(), entry.value().get_string());
  std::sort(facts.annotations.begin(), facts.annotations.end());
  if (const json::Object* failure = api::find_condition(*tree, "ReplicaFailure")) facts.failure = *failure;
  return facts;
}

RolloutSet OwnedSet::numbers(bool is_new) const {
  return {.name = name(),
          .created = object.header->created,
          .is_new = is_new,
          .size = facts->size,
          .actual = facts->actual,
          .available = facts->available,
          .observed = facts->observed_generation >= object.header->generation,
          .desired = facts->number(annotations::kDesired),
          .most = facts->number(annotations::kMost)};
}

OwnedSet owned_set(const client::View& view, api::Version object) {
  auto facts = view.objects(client::resources::kReplicaSets).facts<ReplicaSetFacts>(object, read_replica_set);
  return {std::move(object), std::move(facts)};
}

}  // namespace gangway::controllers
