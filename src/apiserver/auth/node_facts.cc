#include <algorithm>

#include "apiserver/auth/node_restriction.h"

namespace gangway::apiserver {
namespace {

bool has_string(const json::Value& object, std::string_view key, std::string_view value) {
  return object.is_object() && json::string_at(object, {key}) == value;
}

bool names_in_list(const json::Value& list, std::string_view name) {
  return list.is_array() && std::any_of(list.get_array().begin(), list.get_array().end(),
                                        [&](const auto& item) { return has_string(item, "name", name); });
}

struct Keys {
  std::string_view volume;  // "secret": {"secretName": …} in volumes, {"name": …} in projections
  std::string_view volume_name;
  std::string_view key_ref;   // of an environment variable
  std::string_view from_ref;  // of envFrom
};
constexpr Keys kSecretKeys{"secret", "secretName", "secretKeyRef", "secretRef"};
constexpr Keys kConfigMapKeys{"configMap", "name", "configMapKeyRef", "configMapRef"};

// Looks through the pod's spec for a reference. Maps with keys of the user's own hold only strings, so that no key of
// theirs can be taken for a field.
bool refers_to(const json::Value& value, const Keys& keys, std::string_view name) {
  if (value.is_array()) {
    return std::any_of(value.get_array().begin(), value.get_array().end(),
                       [&](const auto& item) { return refers_to(item, keys, name); });
  }
  if (!value.is_object()) return false;
  return std::any_of(value.get_object().begin(), value.get_object().end(), [&](const auto& member) {
    std::string_view key(member.key().data(), member.key().size());
    const auto& child = member.value();
    if (key == keys.volume && (has_string(child, keys.volume_name, name) || has_string(child, "name", name)))
      return true;
    if ((key == keys.key_ref || key == keys.from_ref) && has_string(child, "name", name)) return true;
    if (key == "imagePullSecrets" && keys.volume == kSecretKeys.volume && names_in_list(child, name)) return true;
    return refers_to(child, keys, name);
  });
}

bool claims(const json::Value& spec, std::string_view claim) {
  const auto* volumes = json::find(spec, {"volumes"});
  return volumes != nullptr && volumes->is_array() &&
         std::any_of(volumes->get_array().begin(), volumes->get_array().end(), [&](const auto& volume) {
           return json::string_at(volume, {"persistentVolumeClaim", "claimName"}) == claim;
         });
}

bool spec_uses(const json::Value& spec, Used what, std::string_view name) {
  switch (what) {
    case Used::kSecret:
      return refers_to(spec, kSecretKeys, name);
    case Used::kConfigMap:
      return refers_to(spec, kConfigMapKeys, name);
    case Used::kServiceAccount:
      return json::string_at(spec, {"serviceAccountName"}) == name;
    case Used::kClaim:
      return claims(spec, name);
    case Used::kVolume:
      break;
  }
  return false;
}

}  // namespace

bool StoreNodeFacts::pod_is_on(std::string_view node, const api::ObjectName& pod) const {
  auto version = state_.get({"pods", pod});
  return version && !node.empty() && version.header->field("spec.nodeName") == node;
}

bool StoreNodeFacts::uses(std::string_view node, Used what, const api::ObjectName& object) const {
  if (node.empty()) return false;
  if (what == Used::kVolume) {
    auto volume = state_.get({"persistentvolumes", object});
    auto document = volume ? json::parse(*volume.json) : Result<json::Value>(json::Value());
    if (!document) return false;
    api::ObjectName claim{std::string(json::string_at(*document, {"spec", "claimRef", "namespace"})),
                          std::string(json::string_at(*document, {"spec", "claimRef", "name"}))};
    return !claim.name.empty() && uses(node, Used::kClaim, claim);
  }
  for (const auto& version : state_.objects("pods").in_namespace(object.ns)) {
    if (version.header->field("spec.nodeName") != node) continue;
    auto pod = json::parse(*version.json);
    const auto* spec = pod ? json::find(*pod, {"spec"}) : nullptr;
    if (spec != nullptr && spec_uses(*spec, what, object.name)) return true;
  }
  return false;
}

}  // namespace gangway::apiserver
