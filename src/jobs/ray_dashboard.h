// What is asked of the dashboard of a RayCluster, and what its answers mean. The questions and answers are pure values;
// RayDashboard, which carries them over HTTP, belongs to the loop of its Fetch.
//
// Only the pod of a cluster's head is asked, at the address that its node says it has, never an address that a user
// wrote; and never one that means this machine or its link. An answer that does not come is a value as well: a job is
// not to be looked at less often because its cluster is still starting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "client/action_runner.h"
#include "jobs/ray_job.h"
#include "sys/event_loop.h"
#include "sys/fetch.h"

namespace gangway::jobs {

// Where the head of a job's cluster listens.
struct RayHeadAddress {
  std::string host;
  std::int64_t port = 0;
};

// Names of the questions.
inline constexpr std::string_view kAskRayStatus = "status";
inline constexpr std::string_view kAskRaySubmit = "submit";
inline constexpr std::string_view kAskRayStop = "stop";

client::Probe ask_ray_status(const RayHeadAddress& head, const RayJob& job);
client::Probe ask_ray_to_submit(const RayHeadAddress& head, const RayJob& job);
client::Probe ask_ray_to_stop(const RayHeadAddress& head, const RayJob& job);

// What Ray says of the program.
struct RayProgram {
  enum class Kind : std::uint8_t { kKnown, kNotThere, kSilent };
  Kind kind = Kind::kSilent;
  std::string status = {};   // "RUNNING"
  std::string message = {};  // or why nothing is known
  std::optional<WallTime> started = {};
  std::optional<WallTime> ended = {};
};
RayProgram read_ray_status(const Result<json::Value>& answer);

// What became of handing the program over; an error when Ray will never take it.
Result<void> read_ray_submission(const Result<json::Value>& answer);

class RayDashboard final : public client::ProbeRunner {
 public:
  // Without a Fetch nothing ever answers.
  RayDashboard(sys::EventLoop& loop, sys::Fetch* fetch) : loop_(loop), fetch_(fetch) {}
  // Answers {"status": 200, "body": …}, or {"silent": "why"}.
  void ask(const client::Probe& probe, sys::Completion<json::Value> done) override;

 private:
  sys::EventLoop& loop_;
  sys::Fetch* fetch_;
};

// Whether the controller may connect there: an address in digits that is a pod's, not this machine's own.
bool is_pod_address(const std::string& host);

}  // namespace gangway::jobs
