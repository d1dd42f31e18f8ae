// Runtime: the seam to processes. OciRuntime runs containers, SimulatedRuntime runs nothing and keeps the time.
//
// It knows sandboxes, volumes, images and containers, and how to do each thing asked of it once; what to do when is the
// agent's decision. Every call belongs to the agent's loop and answers there, by post. Calls are idempotent: to make
// what is there answers with what is there, to remove or signal what is gone is a success. Nothing a runtime made is
// lost by the agent's end: recover() finds it again.
//
//   make_sandbox ─► prepare_volume, prepare_image ─► start ─► (signal) ─► on_exit ─► remove ─► remove_sandbox
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/pod/report.h"
#include "agent/runtime_types.h"
#include "base/result.h"
#include "sys/completion.h"

namespace gangway::agent {

// What happens by itself.
class RuntimeSink {
 public:
  virtual ~RuntimeSink() = default;
  // A container has ended, however that came about. Once for each container that was started or recovered running.
  virtual void on_exit(const ContainerId& container, const Exit& exit) = 0;
};

// A process that was started by exec, or a connection to a container's own streams. Dropping the handle drops the
// streams and signals nobody: a session that was lost does not end what it started.
class ExecSession {
 public:
  virtual ~ExecSession() = default;
  virtual void write(std::string bytes) = 0;
  // What was written and the process has not taken yet. Who sees much of it waits for on_drained before writing more.
  virtual std::size_t unsent() const = 0;
  // After what was written before.
  virtual void close_stdin() = 0;
  virtual void resize(std::uint16_t columns, std::uint16_t rows) = 0;
  // While paused no output is read, so that a slow reader slows the writer down.
  virtual void pause(bool paused) = 0;
  // Ends the process (a probe that took too long). Nothing for attach.
  virtual void kill() = 0;
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  // "runc://1.1.5": what a node shows as its container runtime.
  virtual std::string version() const = 0;
  // Nothing runs: images, volumes, environments, hooks and probes mean nothing to it and need not be made ready.
  virtual bool is_simulated() const { return false; }
  // Before anything else is called. Exits of containers that run or ended unseen go to the sink from then on, after
  // `done`; those listed as exited do not.
  virtual void recover(RuntimeSink& sink, sys::Completion<Found> done) = 0;

  virtual void make_sandbox(SandboxSpec spec, sys::Completion<Sandbox> done) = 0;
  // With its volumes and logs' open files; its containers are removed before.
  virtual void remove_sandbox(const std::string& pod_uid, sys::Completion<void> done) = 0;

  // Makes the volume, or replaces the content of a FilesVolume. The paths that mounts need are the runtime's business.
  virtual void prepare_volume(VolumeSpec spec, sys::Completion<void> done) = 0;
  virtual void remove_volumes(const std::string& pod_uid, sys::Completion<void> done) = 0;

  virtual void prepare_image(ImageRequest request, sys::Completion<Image> done) = 0;
  virtual std::vector<NodeImage> images() const = 0;

  // kBadRequest: the container cannot run as it is specified (no such command), and that counts as its end. kForbidden:
  // its own rules forbid it (runAsNonRoot). All other errors are the machine's. Of these two another attempt is made.
  virtual void start(ContainerSpec spec, sys::Completion<Started> done) = 0;
  virtual void signal(const ContainerId& container, int signal, sys::Completion<void> done) = 0;
  // Frees what a container that has ended still holds; its log stays.
  virtual void remove(const ContainerId& container, sys::Completion<void> done) = 0;

  virtual std::shared_ptr<ExecSession> exec(ExecSpec spec, ExecCallbacks callbacks) = 0;
  // A connected socket to a port on the pod's own loopback; the caller owns the descriptor.
  virtual void connect(const std::string& pod_uid, std::uint16_t port, sys::Completion<int> done) = 0;
  // Where a container's output is kept, one line of the CRI log format a line of output; empty: nowhere. It stays when
  // the pod's sandbox is gone.
  virtual std::string log_path(const PodIdentity& pod, const ContainerId& container) const = 0;
  // What the pod's program has left in its report folder.
  virtual PodReport report(const std::string& /*pod_uid*/) const { return {}; }
  virtual Result<Usage> usage(const ContainerId& container) const = 0;
};

}  // namespace gangway::agent
