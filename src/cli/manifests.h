// Manifests that are to be previewed: what in them is placed, and the pods that controllers would make of it. Pure.
//
// Pods of workloads are named by number; the real ones have names that their controllers draw.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/api_client.h"
#include "json/value.h"

namespace gangway::cli {

struct Manifest {
  std::string kind;
  std::string ns;
  std::string name;                          // empty where the server is to make one up
  std::optional<client::Resource> resource;  // none: nothing of it is placed
  json::Value object;
};

// The objects of a stream of YAML or JSON, lists taken apart. `ns` is for those that name none.
Result<std::vector<Manifest>> read_manifests(std::string_view text, const std::string& ns);

struct PodsToBe {
  std::vector<json::Value> groups;  // the PodGroup of a training job
  std::vector<json::Value> claims;  // of a StatefulSet's templates
  std::vector<json::Value> pods;
  std::string note;  // why there are none, or fewer
};
// Of a workload with all its defaults, as the server would store it. A pod is itself.
PodsToBe pods_made_by(const json::Value& workload);

}  // namespace gangway::cli
