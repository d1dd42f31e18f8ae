#include "api/pod_requests.h"

#include <algorithm>

namespace gangway::api {
namespace {

void raise_to(Amounts& most, const Amounts& other) {
  for (const auto& [resource, amount] : other) {
    auto& value = most[resource];
    value = std::max(value, amount);
  }
}

Amounts requests_of(const json::Value& container) {
  return read_amounts(json::find(container, {"resources", "requests"}));
}

}  // namespace

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

std::int64_t amount_of(std::string_view resource, const Quantity& quantity) {
  return resource == "cpu" ? quantity.milli_value() : quantity.value();
}

Amounts read_amounts(const json::Value* quantities) {
  Amounts amounts;
  if (quantities == nullptr || !quantities->is_object()) return amounts;
  for (const auto& entry : quantities->get_object()) {
    if (!entry.value().is_string()) continue;
    if (const auto quantity = Quantity::parse(entry.value().get_string()))
      amounts.insert_or_assign(std::string(entry.key()), amount_of(entry.key(), *quantity));
  }
  return amounts;
}

void add_amounts(Amounts& sum, const Amounts& more) {
  for (const auto& [resource, amount] : more) {
    auto& value = sum[resource];
    value = sum_of(value, amount);
  }
}

bool is_sidecar(const json::Value& init_container) {
  return json::string_at(init_container, {"restartPolicy"}) == "Always";
}

Amounts pod_requests(const json::Value& pod) {
  Amounts running;
  for (const auto& container : json::array_at(pod, {"spec", "containers"}))
    add_amounts(running, requests_of(container));
  Amounts sidecars;    // those that have started by the step at hand
  Amounts most_early;  // over the steps of the initialisation
  for (const auto& container : json::array_at(pod, {"spec", "initContainers"})) {
    Amounts step = requests_of(container);
    if (is_sidecar(container)) {
      add_amounts(running, step);
      add_amounts(sidecars, step);
      step = sidecars;
    } else {
      add_amounts(step, sidecars);
    }
    raise_to(most_early, step);
  }
  raise_to(running, most_early);
  add_amounts(running, read_amounts(json::find(pod, {"spec", "overhead"})));
  return running;
}

}  // namespace gangway::api
