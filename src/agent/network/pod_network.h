// PodNetwork: the seam between OciRuntime and the network of a machine's pods.
//
// It gives each pod a network namespace with an address, and says what the pod's resolv.conf and hosts file hold. It
// starts no containers and writes nothing into a pod's directory. Calls belong to the agent's loop and answer there, by
// post; they are idempotent, as those of Runtime.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/runtime_types.h"
#include "sys/completion.h"

namespace gangway::agent {

struct PodAddresses {
  std::vector<std::string> addresses;  // the pod's; the node's with host_network
  std::string netns_path;              // empty: the machine's own network namespace
  std::string resolv_conf;             // what the files of the pod hold
  std::string hosts;
};

class PodNetwork {
 public:
  virtual ~PodNetwork() = default;

  // Before anything else. `pods` are the uids of the sandboxes that should be attached; what is attached for any other
  // pod, or only half, is taken away. Answers with those of `pods` that still are (none after a restart of the
  // machine).
  virtual void recover(std::set<std::string> pods, sys::Completion<std::map<std::string, PodAddresses>> done) = 0;

  // A pod that is attached keeps its addresses. With spec.host_network there is nothing to attach, only the files.
  virtual void attach(SandboxSpec spec, sys::Completion<PodAddresses> done) = 0;
  virtual void detach(const std::string& pod_uid, sys::Completion<void> done) = 0;
};

}  // namespace gangway::agent
