#include "apiserver/strategies/custom_resource_definition.h"

namespace gangway::apiserver {

bool is_established(const json::Value& definition) {
  const auto* conditions = json::find(definition, {"status", "conditions"});
  if (!conditions || !conditions->is_array()) return false;
  for (const auto& condition : conditions->get_array()) {
    if (json::string_at(condition, {"type"}) == "Established") return json::string_at(condition, {"status"}) == "True";
  }
  return false;
}

}  // namespace gangway::apiserver
