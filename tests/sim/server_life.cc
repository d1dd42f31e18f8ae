#include "sim/server_life.h"

#include <string>
#include <utility>

#include "apiserver/bootstrap.h"
#include "apiserver/embedded_kinds.h"
#include "apiserver/kind_loader.h"
#include "base/check.h"
#include "sim/sim_client.h"

namespace gangway::sim {
namespace {

Result<json::Value> refuse_all(std::string_view) {
  return bad_request("nobody has a token here");
}

apiserver::UserInfo server_user() {
  return {"system:apiserver", "", {"system:masters", "system:authenticated"}, {}};
}

embedded::Connect connect_over(Wire& wire, Gate& gate, testing::SimProcess& process, testing::SimLoop& loop) {
  return [&](apiserver::UserInfo user) -> std::unique_ptr<client::ApiClient> {
    return std::make_unique<SimClient>(wire, gate, process, loop, std::move(user));
  };
}

}  // namespace

const Kinds& builtin_kinds() {
  static const Kinds kinds = [] {
    auto loaded = apiserver::load_builtin_kinds(apiserver::embedded_kinds());
    GW_CHECK(loaded.has_value());
    auto registry = apiserver::Registry::of(std::move(loaded->kinds), std::move(loaded->schemas));
    return Kinds{std::move(registry), std::move(loaded->initial_objects)};
  }();
  return kinds;
}

ServerLife::ServerLife(Parts parts, unsigned number, sys::Task on_ready)
    : parts_(parts),
      process_(parts.wire.simulation(), "server-" + std::to_string(number)),
      api_(process_.add_loop("api")),
      disk_(process_.add_loop("disk")),
      net_(process_.add_loop("net")),
      on_ready_(std::move(on_ready)),
      authenticator_({.verify = refuse_all, .issuer = "sim", .audiences = {"sim"}}),
      tokens_({.sign = [](std::string_view claims) { return Result<std::string>(std::string(claims)); },
               .issuer = "sim",
               .audiences = {"sim"}}) {
  process_.on_kill([this] {
    parts_.gate.close();
    parts_.medium.killed(store_.get());
  });
  auto opened = parts_.medium.open(api_, disk_);
  if (!opened) {
    // The power went while it was opened, and the process with it.
    GW_CHECK(!parts_.medium.has_power());
    process_.kill();
    return;
  }
  store_ = std::move(*opened);
  make_server();
  make_first_objects();
}

ServerLife::~ServerLife() {
  parts_.gate.close();
}

void ServerLife::make_server() {
  server_ = std::make_unique<apiserver::ApiServer>(
      apiserver::ApiServer::Parts{*store_, api_, process_.clock(), parts_.entropy, metrics_, builtin_kinds().registry,
                                  authenticator_, tokens_, apiserver::ServerVersion{"v1.33.13", "", ""}});
  port_ = std::make_unique<ServerPort>(*server_, *store_, net_, process_);
}

void ServerLife::make_first_objects() {
  first_client_ = std::make_unique<apiserver::DirectClient>(*server_, *store_, net_, server_user());
  net_.post([this, registry = server_->registry()] {
    apiserver::ensure_initial_objects(*first_client_, *registry, builtin_kinds().initial_objects,
                                      [this, registry](const Result<void>& made) {
                                        if (!process_.is_alive()) return;
                                        // The binary would say so and end; whoever runs it starts it again.
                                        if (!made) return process_.kill();
                                        parts_.gate.open(*port_);
                                        on_ready_();
                                      });
  });
}

ControlLife::ControlLife(Wire& wire, Gate& gate, ServerLife& server, unsigned number,
                         std::vector<agent::NodeSpec> nodes)
    : process_(wire.simulation(), "control-" + std::to_string(number)), loop_(process_.add_loop("control")) {
  loop_.post([this, &wire, &gate, &server, nodes = std::move(nodes)] {
    plane_ = std::make_unique<embedded::ControlPlane>(
        embedded::ControlPlaneParts{.server = server.server(),
                                    .store = *server.store(),
                                    .loop = loop_,
                                    .authority_pem = "the authority",
                                    .nodes = nodes,
                                    .connect = connect_over(wire, gate, process_, loop_),
                                    .new_ssh_key = [] { return Result<sys::SshKey>(sys::SshKey{"PEM", "line\n"}); }});
    plane_->start();
  });
}

SimulatedLife::SimulatedLife(Wire& wire, Gate& gate, unsigned number, std::vector<agent::NodeSpec> nodes)
    : process_(wire.simulation(), "simulated-" + std::to_string(number)), loop_(process_.add_loop("agent")) {
  loop_.post([this, &wire, &gate, nodes = std::move(nodes)] {
    nodes_ = std::make_unique<embedded::SimulatedNodes>(loop_, connect_over(wire, gate, process_, loop_), nodes,
                                                        agent::NodeSystem());
    nodes_->start();
  });
}

}  // namespace gangway::sim
