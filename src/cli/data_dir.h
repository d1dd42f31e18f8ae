// The data directory: where a cluster keeps its store, keys, log and pid, and how its parts are named.
//
//   DIR/gangway.db      the store              DIR/gangway.pid   the running server's process id
//   DIR/pki/            keys, mode 0600        DIR/gangway.log   its log when detached
//   DIR/kubeconfig      the administrator's    DIR/cluster.json  what `up` was told, for `status` and the next `up`
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
  std::string kubeconfig() const { return path_ + "/kubeconfig"; }
  std::string pid_file() const { return path_ + "/gangway.pid"; }
  std::string log_file() const { return path_ + "/gangway.log"; }

  // Makes the directory (mode 0700) and its pki folder.
  Result<void> create() const;
  Result<void> write_pid(pid_t pid) const;
  void remove_pid() const;
  // The process that the pid file names, if it is alive and a gangway server.
  std::optional<pid_t> running() const;

 private:
  std::string path_;
};

}  // namespace gangway::cli
