// NetworkSync: carries Services and their endpoints from the API to the machine: rules for nft, names for dnsmasq.
//
//   change ─► parsed at once ─► a short pause for others ─► rules and names of all ─► only what differs is applied
//
// Nothing is applied before the first lists are in: until then what an earlier agent left is better than nothing. While
// the API is away, what was known stays. Belongs to the mirror's loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/network/host_directory.h"
#include "agent/network/layout.h"
#include "agent/network/ruleset.h"
#include "agent/network/service_view.h"
#include "client/mirror.h"
#include "sys/command.h"
#include "sys/event_loop.h"

namespace gangway::agent {

struct NetworkSyncOptions {
  NetworkLayout layout;
  // Where pods of this machine reach the API server; none: where its endpoints say.
  std::optional<Backend> api_server = std::nullopt;
};

class NetworkSync {
 public:
  NetworkSync(sys::EventLoop& loop, sys::CommandRunner& runner, client::Mirror& mirror, NetworkSyncOptions options);
  ~NetworkSync();
  NetworkSync(const NetworkSync&) = delete;
  NetworkSync& operator=(const NetworkSync&) = delete;

  void start();
  // Everything that the mirror knows is on the machine.
  bool is_settled() const { return synced_ && !dirty_ && !applying_; }
  // How often rules were brought to the kernel.
  std::size_t applied() const { return rules_.applied(); }

 private:
  template <class Objects, class Read>
  client::InformerHandlers handlers(Objects& objects, Read read);
  void note_change();
  void note_progress();
  void schedule(Duration delay);
  void apply();
  void applied_all(const Result<void>& result);

  sys::EventLoop& loop_;
  client::Mirror& mirror_;
  NetworkSyncOptions options_;
  Ruleset rules_;
  HostDirectory names_;
  Services services_;
  Slices slices_;
  std::unique_ptr<sys::Subscription> service_watch_;
  std::unique_ptr<sys::Subscription> slice_watch_;
  const client::Informer* service_informer_ = nullptr;
  const client::Informer* slice_informer_ = nullptr;
  bool synced_ = false;
  bool dirty_ = false;
  bool applying_ = false;
  Duration retry_;
  sys::TimerId timer_ = sys::TimerId::kNone;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
