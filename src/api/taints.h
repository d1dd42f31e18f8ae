// Taints of nodes and tolerations of pods: who may be on a node, and for how long. Pure functions on documents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/value.h"

namespace gangway::api {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;                  // NoSchedule, PreferNoSchedule, NoExecute
  std::optional<WallTime> added = {};  // timeAdded

  bool operator==(const Taint&) const = default;
  // Whatever their values and times: a node has no two such taints.
  bool is_same_place(const Taint& other) const { return key == other.key && effect == other.effect; }
};

struct Toleration {
  std::string key;  // empty, with the operator Exists: every key
  std::string op;   // Exists, or Equal, which is also meant by nothing
  std::string value;
  std::string effect;                        // empty: every effect
  std::optional<std::int64_t> seconds = {};  // of a NoExecute taint; empty: for ever

  bool tolerates(const Taint& taint) const;
};

// spec.taints of a node.
std::vector<Taint> read_taints(const json::Value& node);
json::Value to_json(const Taint& taint);
// spec.tolerations of a pod.
std::vector<Toleration> read_tolerations(const json::Value& pod);

// The first toleration of the taint; null when there is none.
const Toleration* find_toleration(const std::vector<Toleration>& tolerations, const Taint& taint);

}  // namespace gangway::api
