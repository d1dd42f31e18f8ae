// NodeDialer: the seam through which the API server reaches the agents of nodes. src/net has the real one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "client/transport.h"
#include "sys/event_loop.h"

namespace gangway::client {

// Where a node's agent is, as its Node object says.
struct NodeAddress {
  std::string node;  // what its certificate must be for
  std::string host;  // numeric: looking up names would take time
  std::uint16_t port = 0;
  std::string authority_pem;  // who issued its certificate; empty: the cluster's own authority
};

class NodeDialer {
 public:
  virtual ~NodeDialer() = default;
  // A transport of its own for one request, on the caller's loop. Nothing is sent yet, and nothing blocks. Any thread.
  virtual Result<std::unique_ptr<Transport>> dial(const NodeAddress& node, sys::EventLoop& here) = 0;
};

}  // namespace gangway::client
