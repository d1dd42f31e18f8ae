#include "api/taints.h"

#include <algorithm>

namespace gangway::api {
namespace {

std::string text(const json::Value& object, std::string_view key) {
  return std::string(json::string_at(object, {key}));
}

}  // namespace

bool Toleration::tolerates(const Taint& taint) const {
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  if (op == "Exists") return true;
  return (op.empty() || op == "Equal") && value == taint.value;
}

std::vector<Taint> read_taints(const json::Value& node) {
  std::vector<Taint> taints;
  for (const auto& item : json::array_at(node, {"spec", "taints"})) {
    Taint taint{text(item, "key"), text(item, "value"), text(item, "effect")};
    if (const auto added = parse_rfc3339(json::string_at(item, {"timeAdded"}))) taint.added = *added;
    taints.push_back(std::move(taint));
  }
  return taints;
}

json::Value to_json(const Taint& taint) {
  json::Object object{{"key", taint.key}, {"effect", taint.effect}};
  if (!taint.value.empty()) object["value"] = taint.value;
  if (taint.added) object["timeAdded"] = to_rfc3339(*taint.added);
  return object;
}

std::vector<Toleration> read_tolerations(const json::Value& pod) {
  std::vector<Toleration> tolerations;
  for (const auto& item : json::array_at(pod, {"spec", "tolerations"})) {
    Toleration toleration{text(item, "key"), text(item, "operator"), text(item, "value"), text(item, "effect")};
    if (const auto* seconds = json::find(item, {"tolerationSeconds"}); seconds != nullptr && seconds->is_int64())
      toleration.seconds = seconds->get_int64();
    tolerations.push_back(std::move(toleration));
  }
  return tolerations;
}

const Toleration* find_toleration(const std::vector<Toleration>& tolerations, const Taint& taint) {
  auto at = std::find_if(tolerations.begin(), tolerations.end(),
                         [&](const Toleration& toleration) { return toleration.tolerates(taint); });
  return at == tolerations.end() ? nullptr : &*at;
}

}  // namespace gangway::api
