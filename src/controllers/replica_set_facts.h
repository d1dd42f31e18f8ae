// What a Deployment knows of its ReplicaSets, and the annotations by which it remembers. Read once a version. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/object.h"
#include "client/view.h"
#include "controllers/rollout.h"
#include "json/value.h"

namespace gangway::controllers {

namespace annotations {

inline constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";
inline constexpr std::string_view kRevisionHistory = "deployment.kubernetes.io/revision-history";
inline constexpr std::string_view kDesired = "deployment.kubernetes.io/desired-replicas";
inline constexpr std::string_view kMost = "deployment.kubernetes.io/max-replicas";

}  // namespace annotations

struct ReplicaSetFacts {
  std::int64_t size = 1;
  std::int64_t actual = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::int64_t observed_generation = 0;
  std::int64_t min_ready_seconds = 0;
  std::string pod_template;             // canonical, without pod-template-hash
  api::StringPairs annotations;         // sorted
  std::optional<json::Object> failure;  // its condition ReplicaFailure

  std::string_view annotation(std::string_view key) const;
  // The number that the annotation says; none when it says none.
  std::optional<std::int64_t> number(std::string_view key) const;
  std::int64_t revision() const { return number(annotations::kRevision).value_or(0); }
};

ReplicaSetFacts read_replica_set(const api::Version& set);

// A ReplicaSet with what was read of it.
struct OwnedSet {
  api::Version object;
  std::shared_ptr<const ReplicaSetFacts> facts;

  const std::string& name() const { return object.header->name.name; }
  RolloutSet numbers(bool is_new) const;
};

OwnedSet owned_set(const client::View& view, api::Version object);

}  // namespace gangway::controllers
