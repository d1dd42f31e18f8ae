// The data directory: where a cluster keeps its store, keys, log and pid, and how its parts are named.
//
//   DIR/gangway.db      the store              DIR/gangway.pid   the running server's process id
//   DIR/pki/            keys, mode 0600        DIR/gangway.log   its log when detached
//   DIR/kubeconfig      the administrator's    DIR/cluster.json  what `up` was told, for `status` and the next `up`
//   DIR/volumes/        what claims were given, a directory each
//   DIR/flight/         the last cycles of the scheduler, for `gangway replay`
//   DIR/agent/          of the agent on this machine: config.json, agent.pid, agent.log, and records/ of its pods
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace gangway::cli {

class DataDir {
 public:
  explicit DataDir(std::string path) : path_(std::move(path)) {}
  // $XDG_DATA_HOME/gangway, or ~/.local/share/gangway.
  static std::string default_path();

  const std::string& path() const { return path_; }
  std::string database() const { return path_ + "/gangway.db"; }
  std::string pki() const { return path_ + "/pki"; }
  std::string volumes() const { return path_ + "/volumes"; }
  std::string flight() const { return path_ + "/flight"; }
  std::string kubeconfig() const { return path_ + "/kubeconfig"; }
  std::string pid_file() const { return path_ + "/gangway.pid"; }
  std::string log_file() const { return path_ + "/gangway.log"; }

  std::string agent() const { return path_ + "/agent"; }
  std::string agent_config() const { return agent() + "/config.json"; }
  std::string agent_pid_file() const { return agent() + "/agent.pid"; }
  std::string agent_log_file() const { return agent() + "/agent.log"; }
  // Not where the runtime keeps its own of a pod: that goes with the pod's sandbox, and these must not.
  std::string agent_records() const { return agent() + "/records"; }

  // Makes the directory (mode 0700) with its folders.
  Result<void> create() const;
  Result<void> write_pid(pid_t pid) const;
  void remove_pid() const;
  // The process that the pid file names, if it is alive and a gangway server.
  std::optional<pid_t> running() const;
  // The same for the agent.
  std::optional<pid_t> running_agent() const;

 private:
  std::string path_;
};

}  // namespace gangway::cli
