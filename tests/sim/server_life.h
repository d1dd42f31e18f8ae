// ServerLife: one life of the server's process, from opening its store to its end: wired as the binary wires it, with a
// ServerPort where the binary has sockets. ControlLife and SimulatedLife: the same of the control plane and of the
// nodes that are only simulated, which may be killed alone.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "apiserver/server.h"
#include "embedded/control_plane.h"
#include "embedded/simulated_nodes.h"
#include "sim/medium.h"
#include "sim/server_port.h"
#include "sim/wire.h"
#include "testing/random.h"

namespace gangway::sim {

// What every server is made of, read once.
struct Kinds {
  std::shared_ptr<const apiserver::Registry> registry;
  std::vector<json::Value> initial_objects;
};
const Kinds& builtin_kinds();

class ServerLife {
 public:
  struct Parts {
    Wire& wire;
    Gate& gate;
    Medium& medium;
    sys::Entropy& entropy;
  };
  // `on_ready` runs once the first objects are there and the gate is open.
  ServerLife(Parts parts, unsigned number, sys::Task on_ready);
  // Killed before, or orderly as the binary ends.
  ~ServerLife();

  testing::SimProcess& process() { return process_; }
  apiserver::ApiServer& server() { return *server_; }
  // Null when it could not be opened.
  store::Store* store() { return store_.get(); }

 private:
  void make_server();
  void make_first_objects();

  Parts parts_;
  testing::SimProcess process_;
  testing::SimLoop& api_;
  testing::SimLoop& disk_;
  testing::SimLoop& net_;
  sys::Task on_ready_;
  sys::Metrics metrics_;
  std::unique_ptr<store::Store> store_;
  apiserver::Authenticator authenticator_;
  apiserver::TokenIssuer tokens_;
  std::unique_ptr<apiserver::ApiServer> server_;
  std::unique_ptr<apiserver::DirectClient> first_client_;
  std::unique_ptr<ServerPort> port_;
};

class ControlLife {
 public:
  ControlLife(Wire& wire, Gate& gate, ServerLife& server, unsigned number, std::vector<agent::NodeSpec> nodes);

  testing::SimProcess& process() { return process_; }
  const embedded::ControlPlane& plane() const { return *plane_; }

 private:
  testing::SimProcess process_;
  testing::SimLoop& loop_;
  std::unique_ptr<embedded::ControlPlane> plane_;
};

class SimulatedLife {
 public:
  SimulatedLife(Wire& wire, Gate& gate, unsigned number, std::vector<agent::NodeSpec> nodes);

  testing::SimProcess& process() { return process_; }

 private:
  testing::SimProcess process_;
  testing::SimLoop& loop_;
  std::unique_ptr<embedded::SimulatedNodes> nodes_;
};

}  // namespace gangway::sim
