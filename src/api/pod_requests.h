// What a pod takes of a node: requests, counted as Kubernetes does. Pure functions on documents.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "json/value.h"

namespace gangway::api {

// By resource: thousandths of a cpu, whole units (rounded up) of everything else. Sums stop at the largest integer.
using Amounts = std::map<std::string, std::int64_t, std::less<>>;

// Stops at the largest integer.
std::int64_t sum_of(std::int64_t a, std::int64_t b);
std::int64_t amount_of(std::string_view resource, const Quantity& quantity);
// A map of quantities, such as status.allocatable; what cannot be read is left out. Null has none.
Amounts read_amounts(const json::Value* quantities);
void add_amounts(Amounts& sum, const Amounts& more);

// The containers together with the sidecars, or the most that any step of the initialisation needs, where that is
// more; and the overhead. Does not count the pod itself.
Amounts pod_requests(const json::Value& pod);

// An init container that runs beside the others for as long as the pod lives.
bool is_sidecar(const json::Value& init_container);

}  // namespace gangway::api
