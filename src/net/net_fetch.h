// NetFetch: sys::Fetch over TCP and TLS. Each request has a connection of its own. Belongs to one loop.
#pragma once

#include <memory>
#include <string>

#include "sys/event_loop.h"
#include "sys/fetch.h"

namespace gangway::net {

class NetFetch final : public sys::Fetch {
 public:
  explicit NetFetch(sys::EventLoop& loop) : loop_(loop) {}

  void fetch(sys::FetchRequest request, sys::Completion<sys::FetchAnswer> done) override;
  // `host` is an address, as those of pods are: names are not looked up.
  void connect(std::string host, std::uint16_t port, Duration timeout, sys::Completion<void> done) override;

 private:
  sys::EventLoop& loop_;
};

}  // namespace gangway::net
