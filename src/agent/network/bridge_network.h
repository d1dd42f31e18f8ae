// BridgeNetwork: the PodNetwork of a machine: one namespace a pod, on the cluster's bridge.
//
//   attach:  namespace ─► CNI ADD (interface, address) ─► routes ─► record ─► ports of the machine
//   detach:  CNI DEL ─► namespace gone ─► record gone ─► ports
//
// The record is written last and removed last but one: what has none is half attached, and recover() takes it away,
// with the address that it may hold. What is done for one pod is done in order; pods do not wait for each other.
// Belongs to the agent's loop. Ends without a trace in the kernel: pods keep their network.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/network/attachment.h"
#include "agent/network/layout.h"
#include "agent/network/name_server.h"
#include "agent/network/pod_network.h"
#include "agent/network/ruleset.h"
#include "sys/command.h"
#include "sys/event_loop.h"

namespace gangway::agent {

struct BridgeNetworkOptions {
  NetworkLayout layout;      // claim_subnet() gives it
  std::string host_address;  // of pods with the machine's network
  std::string plugins = "/usr/lib/cni";
  std::string resolv_conf = "/etc/resolv.conf";
  std::string hosts = "/etc/hosts";
};

class BridgeNetwork final : public PodNetwork {
 public:
  BridgeNetwork(sys::EventLoop& loop, sys::CommandRunner& runner, BridgeNetworkOptions options);

  void recover(std::set<std::string> pods, sys::Completion<std::map<std::string, PodAddresses>> done) override;
  void attach(SandboxSpec spec, sys::Completion<PodAddresses> done) override;
  void detach(const std::string& pod_uid, sys::Completion<void> done) override;

 private:
  struct Recovery;
  struct Attaching;
  using Operation = std::function<void(sys::Task finished)>;

  // Operations of one pod, one after the other.
  void in_turn(const std::string& uid, Operation operation);
  void next_of(const std::string& uid);

  void take_stale(const std::shared_ptr<Recovery>& recovery);
  void finish_recovery(const std::shared_ptr<Recovery>& recovery);

  void attach_now(SandboxSpec spec, sys::Completion<PodAddresses> done);
  void make_namespace(const std::shared_ptr<Attaching>& job);
  void add_interface(const std::shared_ptr<Attaching>& job);
  void set_routes(const std::shared_ptr<Attaching>& job);
  void keep(const std::shared_ptr<Attaching>& job);
  void give_up(const std::shared_ptr<Attaching>& job, Error error);

  // Whatever there is of the pod, recorded or not.
  void take_away(const std::string& uid, sys::Completion<void> done);
  void apply_rules(sys::Completion<void> done);
  // Runs a command that must succeed; nothing follows when we are gone meanwhile.
  void run(sys::Command command, sys::Completion<std::string> done);

  sys::EventLoop& loop_;
  sys::CommandRunner& runner_;
  BridgeNetworkOptions options_;
  const NetworkLayout& layout_;
  unsigned mtu_ = 0;
  Ruleset rules_;
  NameServer names_;
  std::map<std::string, Attachment> attached_;  // by pod uid
  std::map<std::string, std::deque<Operation>> turns_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
