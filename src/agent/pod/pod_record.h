// PodRecord: what the agent must not forget about a pod, whatever dies. Written before the first effect of what it
// says.
//
//   container:  none ─► starting ─► running ─► exited ─┬─► removed
//                ▲         └ the machine failed ─┐     └ restart: the next attempt, from none
//                └───── under the next attempt ◄─┘
//
// An attempt is started at most once: its number is used up the moment `starting` is written. Pure values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/runtime_types.h"
#include "api/pod_requests.h"
#include "base/result.h"
#include "base/time.h"
#include "json/value.h"

namespace gangway::agent {

// How a run ended.
struct RunEnd {
  unsigned attempt = 0;
  Exit exit;
  std::string reason;  // where it is not one of those that the exit code says: "StartError"

  bool operator==(const RunEnd&) const = default;
};

// A container on its way to its end.
struct StopRecord {
  WallTime kill_at;
  bool hook_done = false;                // preStop
  std::optional<WallTime> term_at = {};  // when the first signal was sent
  std::optional<WallTime> killed = {};   // when SIGKILL was sent last

  bool operator==(const StopRecord&) const = default;
};

struct ContainerRecord {
  enum class Stage : std::uint8_t { kNone, kStarting, kRunning, kExited };

  std::string name;
  Stage stage = Stage::kNone;
  unsigned attempt = 0;     // of the run that `stage` is about, or of the next one
  unsigned restarts = 0;    // runs that ended and were followed by another
  unsigned generation = 0;  // the sandbox it ran in
  bool removed = false;     // what the exited run held is free
  bool hook_done = false;   // postStart
  int stop_signal = 15;
  WallTime started_at;
  pid_t pid = 0;
  std::string image_id;
  Duration backoff{};  // how long after an exit the next run waits
  std::optional<StopRecord> stop;
  std::optional<RunEnd> end;   // of this attempt
  std::optional<RunEnd> last;  // of the run before

  bool is_alive() const { return stage == Stage::kStarting || stage == Stage::kRunning; }
  bool operator==(const ContainerRecord&) const = default;
};

// A condition's status and since when it is that.
struct Mark {
  bool is = false;
  WallTime since;

  bool operator==(const Mark&) const = default;
};

// Why a pod does not run (any longer).
struct Ending {
  enum class Cause : std::uint8_t {
    kRefused,   // by the node's own admission
    kFinished,  // none of its containers will run again
    kDeadline,  // it was active for longer than it may
    kDeleted,   // its object says so
    kGone,      // its object is no more
  };
  Cause cause = Cause::kFinished;
  std::string reason;   // of its status: "OutOfcpu", "DeadlineExceeded"
  std::string message;  // likewise
  WallTime since;
  WallTime kill_at;

  bool operator==(const Ending&) const = default;
};

struct PodRecord {
  PodIdentity pod;
  bool judged = false;  // the node's admission has spoken
  WallTime started_at;  // when it did
  Duration grace = std::chrono::seconds(30);
  bool continues_alone = false;  // without contact to the server; an agent that has just started may not know its spec
  api::Amounts requests;
  std::map<std::string, std::vector<unsigned>> gpus;  // by container
  unsigned generation = 0;                            // sandboxes made or begun
  bool sandbox_ready = false;
  bool has_sandbox = false;  // one may exist
  std::vector<std::string> addresses;
  std::vector<ContainerRecord> containers;  // in the order of the spec
  std::optional<Ending> ending;
  bool released = false;  // it has ended, and nothing of it is left but logs
  std::optional<Mark> sandbox_mark;
  std::optional<Mark> initialized;
  std::optional<Mark> containers_ready;
  std::optional<Mark> ready;
  std::optional<WallTime> scheduled_since;  // where nobody else has said that it is scheduled

  ContainerRecord* find(std::string_view container);
  const ContainerRecord* find(std::string_view container) const;
  bool any_alive() const;
  // Counts against the node's room: it runs, or may.
  bool takes_room() const { return judged && !released && !containers.empty(); }
  bool operator==(const PodRecord&) const = default;
};

std::string write_record(const PodRecord& record);
Result<PodRecord> read_record(std::string_view text);

// ── after a restart ──

// What the runtime found becomes part of the record: containers that run or ended unseen, those that are lost, and
// starts that never came to be.
void adopt(PodRecord& record, const Found& found, WallTime now);

// The record of a pod whose only record is its status (simulated nodes). None for a pod that nothing was done for.
std::optional<PodRecord> record_from_status(const json::Value& pod, PodIdentity identity, std::string_view scheme);

// "simulated://uid/container/3"
std::string container_id_text(std::string_view scheme, const ContainerId& id);

}  // namespace gangway::agent
