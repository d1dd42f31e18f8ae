// The life of one pod on its node, as a decision: what is known goes in, what is right now comes out.
//
//                    refused ─────────────────────────────────────────────────────┐
//                      ▲                                                          ▼
//   new ─► judged ─► GPUs ─► volumes, sandbox ─► init containers ─► containers ─► ended ─► released ─► gone
//                                 │ one after the other; sidecars │  │ restart     ▲ all ended, removed,
//                                 │ stay when they have started   └──┘ by policy   │ sandbox removed
//                                 └──────────── ending: deleted, gone, deadline, finished ──┘
//                                               preStop ─► SIGTERM ─► SIGKILL; sidecars last, in reverse
//
// Pure: decide() and apply() read nothing but their arguments. decide() gives the *set* of commands that are right now;
// one that is under way (facts.under_way) is not given again. What the record must say before the effect of a command,
// it says in the same step. Outcomes come back through apply(). Look after look at the same state gives nothing new.
//
// machine.cc has the frame, starting.cc and stopping.cc its two halves, outcomes.cc apply(), status.h what users see.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "agent/pod/admission.h"
#include "agent/pod/pod_record.h"
#include "agent/pod/pod_spec.h"
#include "agent/pod/references.h"
#include "agent/pod/report.h"
#include "json/value.h"

namespace gangway::agent {

// ── what goes in ──

// What stands in the way of something, and when to try again.
struct Trouble {
  std::string reason;  // "ErrImagePull"; empty: all is well
  std::string message;
  unsigned failures = 0;
  WallTime since;
  WallTime retry_at;

  bool is_set() const { return !reason.empty(); }
};

// What probes say about one run.
struct ProbeFacts {
  unsigned attempt = 0;
  bool started = false;
  bool ready = false;
  std::string failed;  // why the container must be stopped: "failed liveness probe"; empty: it need not
  std::optional<Duration> grace;
};

struct ContainerFacts {
  bool image_ready = false;
  std::string image_id;
  std::string stop_signal;
  Trouble image;
  Trouble start;
  ProbeFacts probes;
};

// What this process knows and may forget.
struct PodFacts {
  std::map<std::string, ContainerFacts> containers;
  std::map<std::string, std::size_t> volumes;  // what each prepared one holds, as a hash
  std::map<std::string, Trouble> volume_troubles;
  Trouble sandbox;
  std::set<std::string> under_way;  // keys of commands
  PodReport report;                 // what its program tells about itself
  std::map<std::string, Trouble>
      retries;  // of commands that failed and are no trouble of a container, volume or sandbox
};

// The node that the pod is on.
struct NodeFacts {
  std::string name;
  std::string address;
  api::Amounts allocatable;
  unsigned gpus = 0;
  bool simulated = false;
  std::string runtime_scheme;  // "runc", "simulated"
  std::string api_host;        // where pods reach the API server
  std::uint16_t api_port = 443;
};

// An order to stop that is not the pod's own end: it may run again.
enum class Halt : std::uint8_t {
  kNone,
  kFenced,    // nobody can tell whether the pod still is this node's
  kShutdown,  // the cluster goes down
};

struct PodView {
  const PodSpec* spec = nullptr;  // as known last; null: nothing is known but the record
  bool gone = false;              // the object is no more
  const PodRecord& record;
  const PodFacts& facts;
  const NodeFacts& node;
  const NodeRoom& room;  // what other pods leave; read only for a pod that is not judged yet
  const References& references;
  Halt halt = Halt::kNone;
  WallTime now;
};

// ── what comes out ──

struct MakeSandbox {
  SandboxSpec spec;
};
struct PrepareVolume {
  VolumeSpec spec;
  std::size_t content = 0;
};
struct PrepareImage {
  std::string container;
  ImageRequest request;
};
struct StartContainer {
  ContainerSpec spec;
};
struct RunHook {
  ContainerId container;
  bool before_stop = false;
  Handler handler;
  std::string address;  // the pod's
  WallTime until;
};
struct SendSignal {
  ContainerId container;
  int signal = 15;
};
struct RemoveContainer {
  ContainerId container;
};
struct RemoveSandbox {};
using Command = std::variant<MakeSandbox, PrepareVolume, PrepareImage, StartContainer, RunHook, SendSignal,
                             RemoveContainer, RemoveSandbox>;

struct PodEvent {
  bool warning = false;
  std::string reason;
  std::string message;
  std::string container;  // empty: about the pod
  bool init = false;
};

struct PlannedCommand {
  std::string key;
  Command what;
  std::optional<PodEvent> event;  // told when the command is begun
};

struct PodStep {
  PodRecord record;
  PodFacts facts;
  std::vector<PlannedCommand> commands;
  std::vector<PodEvent> events;
  std::optional<json::Object> status;  // none when there is no object to write it to
  std::optional<WallTime> look_again_at;
  bool delete_object = false;  // everything has ended: the object may go
  bool forget = false;         // and the record with it

  void look_again(WallTime when) {
    if (!look_again_at || when < *look_again_at) look_again_at = when;
  }
};

PodStep decide(const PodView& view);

// ── what became of it ──

struct SandboxMade {
  Result<Sandbox> result;
};
struct VolumePrepared {
  std::string volume;
  std::size_t content = 0;
  Result<void> result;
};
struct ImagePrepared {
  std::string container;
  std::string image;
  PullPolicy policy = PullPolicy::kIfNotPresent;
  Result<Image> result;
};
struct ContainerStarted {
  ContainerId id;
  Result<Started> result;
};
struct HookDone {
  ContainerId id;
  bool before_stop = false;
  Result<void> result;
};
struct SignalSent {
  ContainerId id;
  int signal = 15;
  Result<void> result;
};
struct ContainerExited {
  ContainerId id;
  Exit exit;
};
struct ContainerRemoved {
  ContainerId id;
  Result<void> result;
};
struct SandboxRemoved {
  Result<void> result;
};
using Outcome = std::variant<SandboxMade, VolumePrepared, ImagePrepared, ContainerStarted, HookDone, SignalSent,
                             ContainerExited, ContainerRemoved, SandboxRemoved>;

// Puts an outcome into record and facts, and says what is worth an event. `spec` may be null.
std::vector<PodEvent> apply(const PodSpec* spec, PodRecord& record, PodFacts& facts, const Outcome& outcome,
                            WallTime now);

}  // namespace gangway::agent
