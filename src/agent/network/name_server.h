// NameServer: the cluster's dnsmasq on this machine, started, adopted and kept alive.
//
//   start ─► found with our arguments ─────────────► serving ── ended ─► starting, after a pause that grows
//        └─► found with others: killed ─► starting ─► serving
//
// It listens at the gateway's port 53 only, reads host files from the layout's folder by itself when they change, and
// asks the machine's resolvers for what is not the cluster's. It is no child of ours and outlives the agent. Belongs to
// the agent's loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/network/layout.h"
#include "agent/network/pid_file_process.h"
#include "sys/command.h"
#include "sys/event_loop.h"

namespace gangway::agent {

// Pure: what dnsmasq is started with.
std::vector<std::string> name_server_arguments(const NetworkLayout& layout, const std::string& resolv_conf);
// Finds the process that was started with them, whatever has changed since but for the layout.
std::string name_server_mark(const NetworkLayout& layout);

class NameServer {
 public:
  NameServer(sys::EventLoop& loop, sys::CommandRunner& runner, const NetworkLayout& layout,
             const std::string& resolv_conf);
  // The process goes on.
  ~NameServer();
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;

  // Answers when names can be asked for. After a failure it goes on trying.
  void start(sys::Completion<void> done);

 private:
  void launch();
  void launched(const Result<std::string>& result);
  void supervise(PidFileProcess process);
  void ended();
  void again();
  void answer(const Result<void>& result);

  sys::EventLoop& loop_;
  sys::CommandRunner& runner_;
  std::vector<std::string> argv_;
  std::string pid_file_;
  std::string mark_;
  sys::Completion<void> done_;
  std::optional<PidFileProcess> process_;
  std::unique_ptr<sys::Subscription> end_watch_;
  MonoTime serving_since_;
  Duration pause_;
  sys::TimerId timer_ = sys::TimerId::kNone;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
