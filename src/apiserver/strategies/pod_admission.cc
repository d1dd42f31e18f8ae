#include "apiserver/strategies/pod_admission.h"

#include <fmt/format.h>

#include "apiserver/auth/rbac.h"
#include "apiserver/strategies/creator.h"
#include "apiserver/strategies/priority.h"
#include "apiserver/strategies/review.h"
#include "base/hash.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kPriorityClasses = "priorityclasses.scheduling.k8s.io";
constexpr std::string_view kTokenVolumePrefix = "kube-api-access-";
constexpr std::string_view kTokenMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::int64_t kTokenSeconds = 3607;
constexpr std::int64_t kTaintSeconds = 300;
constexpr std::size_t kSuffixLength = 5;

json::Array& list_at(json::Value& parent, std::string_view key) {
  auto& value = parent.as_object()[key];
  if (!value.is_array()) value = json::Array();
  return value.get_array();
}

// The suffix follows from the uid alone: a strategy has no dice, and a retried create makes the same pod.
std::string suffix_of(std::string_view uid) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  auto hash = fnv1a(uid);
  std::string suffix;
  for (std::size_t i = 0; i < kSuffixLength; ++i) {
    suffix += kAlphabet[hash % kAlphabet.size()];
    hash /= kAlphabet.size();
  }
  return suffix;
}

Result<json::Value> class_of(const Review& review, std::string_view name) {
  if (name.empty()) return default_priority_class(review.facts);
  auto found = read_stored(review.facts, std::string(kPriorityClasses), "", name);
  if (found.is_null()) return forbidden(review, fmt::format("no PriorityClass with name {} was found", name));
  return found;
}

Result<void> check_may_use(const Review& review, const json::Value& priority_class) {
  if (!is_restricted_priority_class(priority_class)) return {};
  auto name = json::string_at(priority_class, {"metadata", "name"});
  if (review.facts.may("use", "scheduling.k8s.io", "priorityclasses", name)) return {};
  return forbidden(review, fmt::format("PriorityClass {} is restricted: user \"{}\" needs the verb \"use\" on "
                                       "priorityclasses.scheduling.k8s.io \"{}\"",
                                       name, review.facts.user.name, name));
}

Result<void> resolve_priority(Review& review) {
  auto& spec = json::object_at(review.object, {"spec"});
  auto pod = new_object(review);
  GW_TRY(auto priority_class, class_of(review, pod["spec"]["priorityClassName"].text()));
  std::int64_t priority = 0;
  std::string policy = "PreemptLowerPriority";
  if (!priority_class.is_null()) {
    GW_CHECKED(check_may_use(review, priority_class));
    const auto* value = json::find(priority_class, {"value"});
    priority = value && value->is_int64() ? value->get_int64() : 0;
    policy = json::string_at(priority_class, {"preemptionPolicy"});
    spec["priorityClassName"] = json::string_at(priority_class, {"metadata", "name"});
  }
  auto asked = pod["spec"]["priority"].integer();
  if (asked && *asked != priority) {
    return forbidden(review,
                     fmt::format("the integer value of priority ({}) must not be provided in pod spec; priority "
                                 "admission controller computed {} from the given PriorityClass name",
                                 *asked, priority));
  }
  spec["priority"] = priority;
  if (policy.empty()) return {};
  auto asked_policy = pod["spec"]["preemptionPolicy"].text();
  if (!asked_policy.empty() && asked_policy != policy) {
    return forbidden(review,
                     fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod spec; priority "
                                 "admission controller computed {} from the given PriorityClass name",
                                 asked_policy, policy));
  }
  spec["preemptionPolicy"] = policy;
  return {};
}

// Updates by clients that do not know these fields leave them as they are.
void keep_priority(Review& review) {
  for (auto key : {"priority", "preemptionPolicy"}) {
    if (!json::find(review.object, {"spec", key})) keep_old(review, {"spec", key});
  }
}

void tolerate_for_a_while(json::Value& pod) {
  auto& spec = json::object_at(pod, {"spec"});
  for (auto taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    bool tolerated = false;
    if (const auto* list = spec.if_contains("tolerations"); list && list->is_array()) {
      for (const auto& toleration : list->get_array()) {
        auto key = json::string_at(toleration, {"key"});
        auto effect = json::string_at(toleration, {"effect"});
        tolerated |= (key == taint || key.empty()) && (effect == "NoExecute" || effect.empty());
      }
    }
    if (tolerated) continue;
    list_at(*json::find(pod, {"spec"}), "tolerations")
        .push_back(json::Object{
            {"key", taint}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", kTaintSeconds}});
  }
}

json::Object token_volume(std::string_view name) {
  json::Object token{{"expirationSeconds", kTokenSeconds}, {"path", "token"}};
  json::Object authority{{"name", "kube-root-ca.crt"},
                         {"items", json::Array{json::Object{{"key", "ca.crt"}, {"path", "ca.crt"}}}}};
  json::Object reference{{"apiVersion", "v1"}, {"fieldPath", "metadata.namespace"}};
  json::Object own_namespace{
      {"items", json::Array{json::Object{{"path", "namespace"}, {"fieldRef", std::move(reference)}}}}};
  json::Array sources{json::Object{{"serviceAccountToken", std::move(token)}},
                      json::Object{{"configMap", std::move(authority)}},
                      json::Object{{"downwardAPI", std::move(own_namespace)}}};
  return {{"name", name}, {"projected", json::Object{{"sources", std::move(sources)}, {"defaultMode", 420}}}};
}

bool mounts_token_path(const json::Value& container) {
  const auto* mounts = json::find(container, {"volumeMounts"});
  if (!mounts || !mounts->is_array()) return false;
  for (const auto& mount : mounts->get_array()) {
    if (json::string_at(mount, {"mountPath"}) == kTokenMountPath) return true;
  }
  return false;
}

void mount_token(json::Value& pod) {
  auto& spec = *json::find(pod, {"spec"});
  std::string name = std::string(kTokenVolumePrefix) + suffix_of(json::string_at(pod, {"metadata", "uid"}));
  bool has_volume = false;
  if (const auto* volumes = json::find(spec, {"volumes"}); volumes && volumes->is_array()) {
    for (const auto& volume : volumes->get_array()) {
      if (has_volume || !json::string_at(volume, {"name"}).starts_with(kTokenVolumePrefix)) continue;
      name = json::string_at(volume, {"name"});
      has_volume = true;
    }
  }
  bool needed = false;
  for (auto key : {"initContainers", "containers"}) {
    auto* containers = json::find(spec, {key});
    if (!containers || !containers->is_array()) continue;
    for (auto& container : containers->get_array()) {
      if (!container.is_object() || mounts_token_path(container)) continue;
      list_at(container, "volumeMounts")
          .push_back(json::Object{{"name", name}, {"readOnly", true}, {"mountPath", kTokenMountPath}});
      needed = true;
    }
  }
  if (needed && !has_volume) list_at(spec, "volumes").push_back(token_volume(name));
}

bool wants_token(const json::Value& pod, const json::Value& account) {
  for (const auto* flag : {json::find(pod, {"spec", "automountServiceAccountToken"}),
                           json::find(account, {"automountServiceAccountToken"})}) {
    if (flag && flag->is_bool()) return flag->get_bool();
  }
  return true;
}

Result<void> assign_service_account(Review& review) {
  auto& pod = review.object;
  auto& spec = json::object_at(pod, {"spec"});
  std::string name(json::string_at(pod, {"spec", "serviceAccountName"}));
  if (name.empty()) name = "default";
  spec["serviceAccountName"] = name;
  spec["serviceAccount"] = name;
  auto ns = json::string_at(pod, {"metadata", "namespace"});
  auto account = read_stored(review.facts, "serviceaccounts", ns, name);
  if (account.is_null()) {
    return forbidden(
        review, fmt::format("error looking up service account {}/{}: serviceaccount \"{}\" not found", ns, name, name));
  }
  if (wants_token(pod, account)) mount_token(pod);
  const auto* own = json::find(pod, {"spec", "imagePullSecrets"});
  if (own && own->is_array() && !own->get_array().empty()) return {};
  const auto* secrets = json::find(account, {"imagePullSecrets"});
  if (!secrets || !secrets->is_array() || secrets->get_array().empty()) return {};
  json::Array copied;
  for (const auto& secret : secrets->get_array()) {
    copied.push_back(json::Object{{"name", json::string_at(secret, {"name"})}});
  }
  json::object_at(pod, {"spec"})["imagePullSecrets"] = std::move(copied);
  return {};
}

}  // namespace

Result<void> admit_pod(Review& review) {
  if (review.operation == Operation::kDelete) return {};
  if (review.subresource.empty() || review.subresource == "status") write_creator(review);
  if (!review.subresource.empty()) return {};
  if (review.operation == Operation::kUpdate) {
    keep_priority(review);
    tolerate_for_a_while(review.object);
    return {};
  }
  GW_CHECKED(resolve_priority(review));
  tolerate_for_a_while(review.object);
  return assign_service_account(review);
}

}  // namespace gangway::apiserver
