// JobConditions: the list by which job kinds say what has happened to them. Tools read the last entry as the state.
// Pure.
//
//   set ──► the same status and reason: nothing
//       ──► else the entry of that type goes, and the new one is appended last
//             Running and Restarting put each other out
//             Succeeded and Failed turn Running to False where it stands
//       ──► once Failed is True nothing changes any more
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "json/value.h"

namespace gangway::jobs {

inline constexpr std::string_view kJobCreated = "Created";
inline constexpr std::string_view kJobRunning = "Running";
inline constexpr std::string_view kJobRestarting = "Restarting";
inline constexpr std::string_view kJobSuspended = "Suspended";
inline constexpr std::string_view kJobSucceeded = "Succeeded";
inline constexpr std::string_view kJobFailed = "Failed";

class JobConditions {
 public:
  // `list` is status.conditions as it stands; reasons begin with `kind`.
  JobConditions(json::Array list, std::string_view kind, WallTime now);

  // The reason is the kind and `word`: "PyTorchJob" "Running". True when something changed.
  bool set(std::string_view type, bool status, std::string_view word, std::string_view message);
  bool set(std::string_view type, std::string_view message) { return set(type, true, type, message); }
  // The same with the whole reason.
  bool set_because(std::string_view type, bool status, std::string_view reason, std::string_view message);

  bool is_true(std::string_view type) const;
  bool has(std::string_view type) const { return find(type) != nullptr; }
  bool is_over() const { return is_true(kJobSucceeded) || is_true(kJobFailed); }
  const json::Array& list() const { return list_; }

 private:
  const json::Value* find(std::string_view type) const;

  json::Array list_;
  std::string kind_;
  std::string now_;
};

}  // namespace gangway::jobs
