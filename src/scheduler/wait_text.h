// Reports of one gang, for people and for programs. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "json/value.h"
#include "scheduler/explain.h"

namespace gangway::scheduler {

std::string to_text(const WaitReport& wait, WallTime now);
std::string to_text(const RunReport& run, WallTime now);
json::Object to_document(const WaitReport& wait);
json::Object to_document(const RunReport& run);

json::Array array_of(const std::vector<std::string>& texts);
json::Array places_json(const std::vector<std::pair<std::string, std::string>>& places);
json::Object name_json(const GangName& name);
// "a on n0, b on n1", the first few of them.
std::string places_text(const std::vector<std::pair<std::string, std::string>>& places);
// "a, b, … (12 in all)"
std::string list_of(const std::vector<std::string>& names);

}  // namespace gangway::scheduler
