// What laws read of objects. Shares nothing with the readers of those who are judged. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/object.h"
#include "json/value.h"

namespace gangway::sim {

// Thousandths of everything, by resource.
using Amounts = std::map<std::string, std::int64_t>;

json::Value tree_of(const api::Version& version);
// Adds `{"cpu": "2", …}`, or takes it away.
void add(Amounts& to, const json::Value* quantities, std::int64_t sign = 1);
void add(Amounts& to, const Amounts& amounts, std::int64_t sign = 1);
// Of its containers, and itself as one of "pods": no workload here has init containers that ask for more.
Amounts requests_of(const json::Value& pod);

std::string phase_of(const json::Value& pod);
bool has_ended(const std::string& phase);
// The condition of that type; null when there is none.
const json::Value* condition_of(const json::Value& object, std::string_view type);
// "pod ns/name"
std::string named(const api::ObjectName& pod);

}  // namespace gangway::sim
