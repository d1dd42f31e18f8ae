// What all commands about training jobs share: global flags, the log lines of Arena, and jobs as they were read.
//
// Blocking, and for one command: it is made, used and thrown away on the main thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arena/job_view.h"
#include "cli/arena/settings.h"
#include "cluster_connection.h"

namespace CLI {
class App;
}

namespace gangway::arena {

struct GlobalFlags {
  ConnectionFlags connection;
  std::string log_level = "info";
  std::string arena_namespace = "arena-system";
  bool pprof = false, trace = false, helm_binary = false;  // taken, as scripts give them, and of no effect
};
void add_global_flags(CLI::App& command, GlobalFlags& flags);

// "INFO[0000] …" on standard error, terminal or not.
void set_log_level(const std::string& level);
void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);
// One line for each thing that was wrong; returns the exit code.
int fail(const Error& error);

cli::arena::Settings user_settings();

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const GlobalFlags& flags);

  ClusterConnection& connection() { return *connection_; }
  const std::string& ns() const { return ns_; }

  struct What {
    std::string ns;             // empty: all namespaces
    std::string type;           // of -T; empty: all of them
    bool with_details = false;  // what only `get` shows: TensorBoard, who preempted it
  };
  Result<std::vector<cli::arena::JobView>> jobs(const What& what);
  // The objects that jobs are made of, and the jobs that they make.
  Result<cli::arena::ReadObjects> read(const What& what);
  static Result<std::vector<cli::arena::JobView>> view(cli::arena::ReadObjects objects, const What& what);
  // The one of that name; an error says when there is none, or more than one.
  Result<cli::arena::JobView> job(const std::string& name, const std::string& type);

 private:
  Result<cli::arena::ReadObjects::Jobs> list_other_versions(const cli::arena::JobKind& kind, const std::string& ns);

  std::unique_ptr<ClusterConnection> connection_;
  std::string ns_;
};

WallTime now();

// "", "json", "yaml" or "wide"; prints as the first two, or leaves it to the caller (false).
bool print_as(const std::string& output, const json::Value& value);

}  // namespace gangway::arena
