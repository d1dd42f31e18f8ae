// ControlPlane: the controllers of the embedded cluster, wired to one mirror. Lives on the control loop.
//
// The binary and the simulation make it from the same parts: what differs between them is the loop, the store and how
// the controllers are connected to the server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/node/node_spec.h"
#include "apiserver/server.h"
#include "client/api_client.h"
#include "controllers/api_endpoints.h"
#include "json/value.h"
#include "scheduler/cycle_sink.h"
#include "sys/fetch.h"
#include "sys/ssh_keys.h"

namespace gangway::embedded {

// The way to the server of somebody in this process, as that user, for the loop of the control plane.
using Connect = std::function<std::unique_ptr<client::ApiClient>(apiserver::UserInfo user)>;

struct ControlPlaneParts {
  apiserver::ApiServer& server;
  store::Store& store;
  sys::EventLoop& loop;
  std::string authority_pem;
  std::vector<agent::NodeSpec> nodes;
  Connect connect;
  // The service that pods find the API by, and where it leads.
  json::Value api_service = {};
  std::optional<controllers::ApiAddress> api_address = {};
  std::string volumes = {};            // the directory of volumes that claims get, on every node
  std::set<std::string> without = {};  // controllers that are left out, by name
  // Hears of what is planned; outlives the control plane. None: nothing is recorded.
  scheduler::CycleSink* cycles = nullptr;
  // To pods, on the control loop; outlives the control plane. None: no pod is ever asked anything.
  sys::Fetch* fetch = nullptr;
  sys::NewSshKey new_ssh_key = {};  // none: MPIJobs that start their processes by ssh have to wait
};

// Straight to the server, without bytes in between.
Connect connect_directly(apiserver::ApiServer& server, store::Store& store, sys::EventLoop& loop);

class ControlPlane {
 public:
  // On the control loop, as are the end and report().
  explicit ControlPlane(ControlPlaneParts parts);
  ~ControlPlane();

  void start();
  // One entry a controller: {name, state, detail}.
  json::Array report() const;

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace gangway::embedded
