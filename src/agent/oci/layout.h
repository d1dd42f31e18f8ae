// Layout: where OciRuntime keeps what, and what it is called outside. Paths and names only: but for layout_at, nothing
// here touches a disk.
//
//   DATA/agent/
//     init                        the program that is PID 1 of every container
//     runc/                       the runtime's own state (--root)
//     exits/<runtime id>          a container's exit code, written by conmon
//     probes/                     what is tried before anything runs
//     images/                     what was pulled (image_store.h)
//     logs/<ns>_<pod>_<uid>/…     output; stays when the pod is gone (log_files.h)
//     pods/<uid>/
//       sandbox.json              what the sandbox is; written last, so a folder without it was never finished
//       hosts hostname resolv.conf shm/ ns/
//       volumes/<name>/
//       containers/<name>/<attempt>/
//         intent.json             written first: this container may be there
//         started.json            its process and since when
//         config.json root upper work mounts/ message conmon.pid pid ctl attach
#pragma once

#include <string>
#include <string_view>

#include "agent/runtime_types.h"
#include "base/result.h"

namespace gangway::agent::oci {

class Layout {
 public:
  // `data_dir` is the directory's real path.
  explicit Layout(std::string data_dir);

  const std::string& data_dir() const { return data_dir_; }
  const std::string& short_id() const { return short_id_; }
  const std::string& root() const { return root_; }
  std::string init() const { return root_ + "/init"; }
  std::string exec() const { return root_ + "/exec"; }
  std::string runtime_root() const { return root_ + "/runc"; }
  std::string exits() const { return root_ + "/exits"; }
  std::string images() const { return root_ + "/images"; }
  std::string logs() const { return root_ + "/logs"; }
  std::string pods() const { return root_ + "/pods"; }
  std::string probes() const { return root_ + "/probes"; }

  std::string pod(std::string_view uid) const;
  std::string volume(std::string_view uid, std::string_view name) const;
  // What programs in the pod tell about themselves.
  std::string report(std::string_view uid) const { return pod(uid) + "/report"; }
  std::string container(const ContainerId& id) const;
  std::string log(const PodIdentity& pod, const ContainerId& id) const;
  static std::string log_in(const std::string& log_folder, const ContainerId& id);

  // The parent of all cgroups of the pod, below each hierarchy's root.
  std::string pod_cgroup(std::string_view uid) const;
  std::string cgroup(const ContainerId& id) const;
  // Where the shims live, out of the agent's own group: what stops the agent's service must not stop them.
  std::string shim_cgroup(const ContainerId& id) const;

  std::string probe_cgroup() const { return "/" + short_id_ + "-probe"; }

  // What runc and conmon call the container: at most 63 characters, never the same for two ids.
  std::string runtime_id(const ContainerId& id) const;

 private:
  std::string data_dir_;
  std::string short_id_;
  std::string root_;
};

// Of a directory by any of its names; one that does not exist is taken by this one.
Layout layout_at(const std::string& data_dir);

// The container that holds the process namespace of a pod whose containers share one. No container of a pod has its
// name.
ContainerId holder_of(std::string_view pod_uid);

// Names become parts of paths: an error for anything that could lead elsewhere ("..", "a/b", "").
Result<void> check_path_parts(const ContainerId& id);
Result<void> check_path_parts(const PodIdentity& pod);
Result<void> check_path_part(std::string_view what, std::string_view name);

}  // namespace gangway::agent::oci
