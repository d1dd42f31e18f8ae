// What a program tells about its training: files that it leaves in the folder which its pod has at kReportFolder, and
// that its pod's status then says. Pure; the files are written by whoever runs in the pod, and are believed in nothing
// but their own subject.
//
//   checkpoint   {"path": "/ckpt/3.pt", "at": "2026-01-02T03:04:05Z"}
//   progress     {"epoch": 3, "step": 1200, "total": 5000, "loss": 0.31, "at": "2026-01-02T03:04:05Z"}
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "json/value.h"

namespace gangway::agent {

inline constexpr std::string_view kReportFolder = "/dev/gangway";
inline constexpr const char* kReportFiles[] = {"checkpoint", "progress"};
inline constexpr std::size_t kLongestReport = 4096;

// The files as they are; empty where there is none.
struct PodReport {
  std::string checkpoint;
  std::string progress;
  bool operator==(const PodReport&) const = default;
};

// gangway.dev/Checkpoint, whose message is the path and whose lastTransitionTime is when it was saved, and
// gangway.dev/Progress, whose message is JSON with those numbers that were given. What cannot be read says nothing.
json::Array conditions_of(const PodReport& report);

}  // namespace gangway::agent
