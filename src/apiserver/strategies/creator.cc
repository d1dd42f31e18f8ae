#include "apiserver/strategies/creator.h"

#include <algorithm>
#include <string>

#include "api/gang.h"
#include "api/kubeflow.h"
#include "apiserver/registry.h"
#include "apiserver/strategies/kubeflow_jobs.h"
#include "apiserver/strategies/review.h"

namespace gangway::apiserver {
namespace {

bool has_gpus(const Field& amounts) {
  const auto entries = amounts.entries();
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) { return entry.first.ends_with("/gpu"); });
}

bool asks_for_gpus(const Field& pod_spec) {
  for (auto key : {"containers", "initContainers"}) {
    for (const auto& container : pod_spec[key].items()) {
      if (has_gpus(container["resources"]["limits"]) || has_gpus(container["resources"]["requests"])) return true;
    }
  }
  return false;
}

// Of a RayCluster, or the cluster that a RayJob asks for.
bool ray_asks_for_gpus(const Field& cluster) {
  if (asks_for_gpus(cluster["headGroupSpec"]["template"]["spec"])) return true;
  const auto groups = cluster["workerGroupSpecs"].items();
  return std::any_of(groups.begin(), groups.end(),
                     [](const auto& group) { return asks_for_gpus(group["template"]["spec"]); });
}

// A pod, or what makes pods: of one template, or of one for each type of replicas.
bool asks_for_gpus_at_all(const Review& review, const Field& object) {
  const auto spec = object["spec"];
  if (asks_for_gpus(spec) || asks_for_gpus(spec["template"]["spec"])) return true;
  // An MPIJob may say a number instead.
  if (review.kind.group == "kubeflow.org" && spec["gpus"].integer_or(0) > 0) return true;
  if (review.kind.group == "ray.io") return ray_asks_for_gpus(spec) || ray_asks_for_gpus(spec["rayClusterSpec"]);
  const api::KubeflowKind* kind = kubeflow_kind_of(review.kind);
  if (kind == nullptr) return false;
  const auto types = spec[kind->replica_specs].entries();
  return std::any_of(types.begin(), types.end(),
                     [](const auto& entry) { return asks_for_gpus(entry.second["template"]["spec"]); });
}

bool acts_for_others(const UserInfo& user) {
  return user.in_group("system:serviceaccounts:kube-system") || user.name == "system:kube-controller-manager" ||
         user.name == "system:kube-scheduler";
}

std::string creator_in(const json::Value& object) {
  return std::string(json::string_at(object, {"metadata", "annotations", api::kCreatedBy}));
}

// Null when nobody controls the object.
const json::Value* controller_in(const json::Value& object) {
  const auto& owners = json::array_at(object, {"metadata", "ownerReferences"});
  const auto found = std::find_if(owners.begin(), owners.end(),
                                  [](const auto& owner) { return json::flag_at(owner, {"controller"}); });
  return found == owners.end() ? nullptr : &*found;
}

std::string creator_of_owner(const Review& review, const json::Value& owner) {
  const std::string_view version = json::string_at(owner, {"apiVersion"});
  const std::size_t slash = version.find('/');
  const std::string_view group = slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
  const auto kind = review.facts.registry.resolve_kind(
      group, slash == std::string_view::npos ? version : version.substr(slash + 1), json::string_at(owner, {"kind"}));
  if (!kind) return {};
  const auto found =
      read_stored(review.facts, kind->kind->storage_name, json::string_at(review.object, {"metadata", "namespace"}),
                  json::string_at(owner, {"name"}));
  if (found.is_null() || json::string_at(found, {"metadata", "uid"}) != json::string_at(owner, {"uid"})) return {};
  return creator_in(found);
}

std::string creator_of(Review& review) {
  if (review.old) {
    const std::string before = creator_in(*review.old);
    if (!before.empty() || !review.subresource.empty()) return before;
  }
  if (!asks_for_gpus_at_all(review, new_object(review))) return {};
  if (!acts_for_others(review.facts.user)) return review.facts.user.name;
  if (const json::Value* owner = controller_in(review.object)) return creator_of_owner(review, *owner);
  return review.old ? std::string() : creator_in(review.object);
}

}  // namespace

void write_creator(Review& review) {
  if (review.operation == Operation::kDelete) return;
  const std::string creator = creator_of(review);
  if (creator_in(review.object) == creator) return;
  json::Object& annotations = json::object_at(review.object, {"metadata", "annotations"});
  if (creator.empty()) {
    annotations.erase(api::kCreatedBy);
    if (annotations.empty()) json::object_at(review.object, {"metadata"}).erase("annotations");
  } else {
    annotations[api::kCreatedBy] = creator;
  }
}

Result<void> admit_with_creator(Review& review) {
  if (review.subresource.empty() || review.subresource == "status") write_creator(review);
  return {};
}

}  // namespace gangway::apiserver
