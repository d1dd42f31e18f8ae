// ContainerStart: from a folder that is ready (container_build.h) to a running container.
//
//   conmon ── sync pipe: {"pid": N} ─► started.json ─► runc start ─► done
//      └───── {"pid": -1, "message": "…"} ─► error
//
// One object a start; it answers once. Belongs to the agent's loop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/oci/cgroups.h"
#include "agent/oci/layout.h"
#include "agent/oci/records.h"
#include "agent/oci/stream_pump.h"
#include "agent/oci/support.h"
#include "agent/runtime_types.h"
#include "base/result.h"
#include "sys/command.h"
#include "sys/completion.h"
#include "sys/event_loop.h"

namespace gangway::agent::oci {

struct ShimOptions {
  bool terminal = false;
  bool stdin_open = false;
  bool stdin_once = false;
};
// The command line of a container's conmon. Pure.
std::vector<std::string> shim_command(const Layout& layout, const Support& support, const ContainerRecord& container,
                                      const ShimOptions& options);
// What conmon says about its container: the process, or why there is none. Pure.
Result<pid_t> read_sync_line(std::string_view line);

class ContainerStart {
 public:
  ContainerStart(sys::EventLoop& loop, sys::CommandRunner& runner, const Layout& layout, const Support& support,
                 ContainerRecord container);
  ~ContainerStart();
  ContainerStart(const ContainerStart&) = delete;
  ContainerStart& operator=(const ContainerStart&) = delete;

  // On failure the caller removes what is left of the container.
  void run(const ShimOptions& options, sys::Completion<StartedRecord> done);

 private:
  Result<void> spawn_shim(const ShimOptions& options);
  void on_line();
  void on_created(Result<pid_t> pid);
  void finish(Result<StartedRecord> outcome);

  sys::EventLoop& loop_;
  sys::CommandRunner& runner_;
  const Layout& layout_;
  const Support& support_;
  const ContainerRecord container_;
  sys::Completion<StartedRecord> done_;
  StreamReader sync_;
  std::string line_;
  bool line_read_ = false;
  sys::TimerId deadline_ = sys::TimerId::kNone;
  std::shared_ptr<void> alive_;
};

}  // namespace gangway::agent::oci
