#include "embedded/simulated_nodes.h"

#include <fmt/format.h>

#include "agent/node_agent.h"
#include "agent/simulated/adoption.h"
#include "agent/simulated/simulated_runtime.h"
#include "client/resource.h"

namespace gangway::embedded {
namespace {

// Pods that run nothing refer to nothing.
class NoReferences final : public agent::PodReferences {
 public:
  void hold(const agent::PodSpec&) override {}
  void release(const std::string&) override {}
  agent::Looked<agent::KeyValues> keys(agent::KeyHolder, const std::string&, const std::string&) const override {
    return {};
  }
  agent::Looked<agent::ClaimedPath> claim(const std::string&, const std::string&) const override { return {}; }
  agent::Looked<std::string> token(const agent::PodIdentity&, const std::string&,
                                   const agent::TokenSource&) const override {
    return {};
  }
  std::vector<agent::ServiceAddress> services(const std::string&) const override { return {}; }
};

class NoFetch final : public sys::Fetch {
 public:
  explicit NoFetch(sys::EventLoop& loop) : loop_(loop) {}
  void fetch(sys::FetchRequest, sys::Completion<sys::FetchAnswer> done) override {
    loop_.post([done = std::move(done)] { done(bad_request("nothing runs here that could answer")); });
  }
  void connect(std::string, std::uint16_t, Duration, sys::Completion<void> done) override {
    loop_.post([done = std::move(done)] { done(bad_request("nothing runs here that could answer")); });
  }

 private:
  sys::EventLoop& loop_;
};

std::map<std::string, std::string> addresses_of(const std::vector<agent::NodeSpec>& nodes) {
  std::map<std::string, std::string> addresses;
  for (const auto& node : nodes) addresses[node.name] = node.address;
  return addresses;
}

client::InformerOptions all_of(const client::Resource& resource) {
  client::InformerOptions options;
  options.what.resource = resource;
  return options;
}

}  // namespace

struct SimulatedNodes::Members {
  Members(sys::EventLoop& loop, const Connect& connect, const std::vector<agent::NodeSpec>& specs,
          const agent::NodeSystem& system)
      : client(connect({"system:apiserver", "", {"system:masters", "system:authenticated"}, {}})),
        pods(*client, loop, all_of(client::resources::kPods)),
        nodes(*client, loop, all_of(client::resources::kNodes)),
        runtime(loop, addresses_of(specs)),
        fetch(loop),
        checks(loop, runtime, fetch),
        agent(make_parts(loop), make_nodes(specs), {.routine_events = false, .status = {}}),
        keeper(loop, kept_nodes(specs), {.system = system, .declared = true},
               [](const std::string&) { return agent::NodeCondition(); }),
        count(specs.size()) {}

  std::vector<agent::KeptNode> kept_nodes(const std::vector<agent::NodeSpec>& specs) {
    std::vector<agent::KeptNode> all;
    for (const auto& spec : specs) all.push_back({spec, client.get(), &nodes});
    return all;
  }

  agent::AgentParts make_parts(sys::EventLoop& loop) {
    return {.loop = loop,
            .runtime = runtime,
            .records = records,
            .references = references,
            .checks = checks,
            .node_header =
                [this](const std::string& name) {
                  return nodes.objects().get({"", name}).header.get();  // the cache keeps it alive
                },
            .adopt = [this](const agent::PodSpec& spec,
                            const agent::PodRecord& record) { agent::adopt_from_record(runtime, spec, record); }};
  }

  std::vector<agent::AgentNode> make_nodes(const std::vector<agent::NodeSpec>& specs) {
    std::vector<agent::AgentNode> all;
    for (const auto& spec : specs) all.push_back({agent::facts_of(spec, runtime), client.get(), &pods});
    return all;
  }

  std::unique_ptr<client::ApiClient> client;
  client::Informer pods;
  client::Informer nodes;
  agent::SimulatedRuntime runtime;
  agent::NoRecords records;
  NoReferences references;
  NoFetch fetch;
  agent::Checks checks;
  agent::Agent agent;
  agent::NodeKeeper keeper;
  std::size_t count;
};

SimulatedNodes::SimulatedNodes(sys::EventLoop& loop, const Connect& connect, const std::vector<agent::NodeSpec>& nodes,
                               const agent::NodeSystem& system)
    : members_(std::make_unique<Members>(loop, connect, nodes, system)) {}
SimulatedNodes::~SimulatedNodes() = default;

void SimulatedNodes::start() {
  members_->nodes.start();
  members_->keeper.start();
  members_->pods.start();
  // There are no records that could be unreadable.
  (void)members_->agent.start();
}

json::Object SimulatedNodes::report() const {
  const auto& m = *members_;
  return {
      {"name", "simulated-nodes"},
      {"state", m.agent.is_running() ? "running" : "starting"},
      {"detail", fmt::format("{} nodes, {} pods, {} containers run", m.count, m.agent.pods(), m.runtime.running())}};
}

}  // namespace gangway::embedded
