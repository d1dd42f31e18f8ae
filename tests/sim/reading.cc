#include "sim/reading.h"

#include "base/quantity.h"

namespace gangway::sim {

json::Value tree_of(const api::Version& version) {
  auto parsed = json::parse(*version.json);
  return parsed ? *parsed : json::Value();
}

void add(Amounts& to, const json::Value* quantities, std::int64_t sign) {
  if (quantities == nullptr || !quantities->is_object()) return;
  for (const auto& [name, text] : quantities->get_object()) {
    if (!text.is_string()) continue;
    const auto amount = Quantity::parse(std::string_view(text.get_string()));
    if (amount) to[std::string(name)] += sign * amount->milli_value();
  }
}

void add(Amounts& to, const Amounts& amounts, std::int64_t sign) {
  for (const auto& [name, amount] : amounts) to[name] += sign * amount;
}

Amounts requests_of(const json::Value& pod) {
  Amounts sum{{"pods", 1000}};
  for (const auto& container : json::array_at(pod, {"spec", "containers"}))
    add(sum, json::find(container, {"resources", "requests"}));
  return sum;
}

std::string phase_of(const json::Value& pod) {
  return std::string(json::string_at(pod, {"status", "phase"}));
}

bool has_ended(const std::string& phase) {
  return phase == "Succeeded" || phase == "Failed";
}

const json::Value* condition_of(const json::Value& object, std::string_view type) {
  for (const auto& condition : json::array_at(object, {"status", "conditions"}))
    if (json::string_at(condition, {"type"}) == type) return &condition;
  return nullptr;
}

std::string named(const api::ObjectName& pod) {
  return "pod " + pod.ns + "/" + pod.name;
}

}  // namespace gangway::sim
