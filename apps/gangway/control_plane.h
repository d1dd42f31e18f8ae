// ControlPlane: the controllers of the embedded cluster, wired to one mirror. Lives on the control loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apiserver/server.h"
#include "controllers/node_spec.h"
#include "json/value.h"

namespace gangway {

struct ControlPlaneParts {
  apiserver::ApiServer& server;
  store::Store& store;
  sys::EventLoop& loop;
  std::string authority_pem;
  std::vector<controllers::NodeSpec> nodes;
  controllers::NodeSystem system;
};

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

}  // namespace gangway
