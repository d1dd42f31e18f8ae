// What a program tells about its training: files that it leaves in the folder which its pod has at kReportFolder, and
// that its pod's status then says. Pure; the files are written by whoever runs in the pod, and are believed in nothing
// but their own subject.
//
//   checkpoint   {"path": "/ckpt/3.pt", "at": "2026-01-02T03:04:05Z"}
//   progress     {"epoch": 3, "step": 1200, "total": 5000, "loss": 0.31, "at": "2026-01-02T03:04:05Z",
//                 "since": {"epoch": 1, "step": 400, "at": "2026-01-02T03:00:00Z"}}
//
// `since` is the first report of this run of the program, where this is not the first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/time.h"
#include "json/value.h"

namespace gangway::agent {

inline constexpr std::string_view kReportFolder = "/dev/gangway";
inline constexpr std::size_t kLongestReport = 4096;
// Every write to a pod is a write for all who watch pods: progress is for people, and told no oftener than they look.
inline constexpr Duration kTellProgressEvery = std::chrono::seconds(10);

// The files as they are; empty where there is none.
struct PodReport {
  std::string checkpoint;
  std::string progress;
  bool operator==(const PodReport&) const = default;
};

// What is known once `read` was read. A file that is not there takes nothing back: the folder goes before its pod does.
PodReport brought_up_to(PodReport told, PodReport read);

// Whether `now` is to be told, when `told` was told so long ago. Checkpoints are at once.
bool is_worth_telling(const PodReport& told, const PodReport& now, Duration since);

// gangway.dev/Checkpoint, whose message is the path and whose lastTransitionTime is when it was saved, and
// gangway.dev/Progress, whose message is JSON with those numbers that were given, and since when. What cannot be read
// says nothing.
json::Array conditions_of(const PodReport& report);

}  // namespace gangway::agent
