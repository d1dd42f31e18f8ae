// Small texts of Arena's output: durations, times, JSON for people. Pure.
#pragma once

#include <string>

#include "base/time.h"
#include "json/value.h"

namespace gangway::cli::arena {

// Whole units, rounded down: "58s", "3m", "20h", "2d", "1y". A clock that is a second off is "0s", more "<invalid>".
std::string short_duration(Duration duration);

// Four spaces a level, no newline at the end.
std::string indented_json(const json::Value& value);

// "worker-2" before "worker-10".
bool natural_less(std::string_view a, std::string_view b);

}  // namespace gangway::cli::arena
