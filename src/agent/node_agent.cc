#include "agent/node_agent.h"

#include <algorithm>

#include "agent/node/node_status.h"
#include "client/resource.h"
#include "sys/log.h"

namespace gangway::agent {
namespace {

const client::Resource kServices{"", "v1", "services"};
constexpr Duration kLookAtContact = std::chrono::seconds(5);
constexpr Duration kLookForQuiet = std::chrono::milliseconds(100);

client::InformerOptions selected(const client::Resource& resource, std::string field_selector) {
  client::InformerOptions options;
  options.what.resource = resource;
  options.what.field_selector = std::move(field_selector);
  return options;
}

}  // namespace

NodeFacts facts_of(const NodeSpec& node, const Runtime& runtime) {
  NodeFacts facts;
  facts.name = node.name;
  facts.address = node.address;
  for (const auto& [name, quantity] : allocatable_of(node)) facts.allocatable[name] = api::amount_of(name, quantity);
  const auto gpus = node.capacity.find(std::string(kGpuResource));
  facts.gpus = gpus == node.capacity.end() ? 0 : static_cast<unsigned>(gpus->second.value());
  facts.simulated = runtime.is_simulated();
  const std::string version = runtime.version();
  facts.runtime_scheme = version.substr(0, version.find("://"));
  return facts;
}

NodeAgent::NodeAgent(NodeAgentParts parts) : parts_(std::move(parts)) {
  std::map<std::string, client::ApiClient*> clients;
  for (const NodeLogin& login : parts_.nodes) {
    const std::string& name = login.spec.name;
    Node& node = nodes_[name];
    node.client = login.client;
    node.pods = std::make_unique<client::Informer>(*login.client, parts_.loop,
                                                   selected(client::resources::kPods, "spec.nodeName=" + name));
    node.object = std::make_unique<client::Informer>(*login.client, parts_.loop,
                                                     selected(client::resources::kNodes, "metadata.name=" + name));
    clients.emplace(name, login.client);
  }
  services_ = std::make_unique<client::Informer>(*parts_.nodes.front().client, parts_.loop, selected(kServices, ""));
  references_ = std::make_unique<NodeReferences>(parts_.loop, clients, *services_, [this](const std::string& uid) {
    if (agent_) agent_->look_at(uid);
  });
  checks_ = std::make_unique<Checks>(parts_.loop, parts_.runtime, parts_.fetch);
  agent_ = make_agent();
  keeper_ = make_keeper();
}

NodeAgent::~NodeAgent() {
  parts_.loop.cancel(contact_timer_);
}

std::unique_ptr<Agent> NodeAgent::make_agent() {
  std::vector<AgentNode> nodes;
  for (const NodeLogin& login : parts_.nodes) {
    AgentNode node{facts_of(login.spec, parts_.runtime), login.client, nodes_.at(login.spec.name).pods.get()};
    node.facts.api_host = parts_.api_host;
    node.facts.api_port = parts_.api_port;
    nodes.push_back(std::move(node));
  }
  return std::make_unique<Agent>(AgentParts{.loop = parts_.loop,
                                            .runtime = parts_.runtime,
                                            .records = parts_.records,
                                            .references = *references_,
                                            .checks = *checks_,
                                            .node_header =
                                                [this](const std::string& name) {
                                                  return nodes_.at(name).object->objects().get({"", name}).header.get();
                                                },
                                            .adopt = parts_.adopt,
                                            .on_recovered =
                                                [this] {
                                                  if (keeper_) keeper_->condition_changed();
                                                }},
                                 std::move(nodes),
                                 AgentOptions{.routine_events = !parts_.runtime.is_simulated(), .status = {}});
}

std::unique_ptr<NodeKeeper> NodeAgent::make_keeper() {
  std::vector<KeptNode> kept;
  for (const NodeLogin& login : parts_.nodes)
    kept.push_back({login.spec, login.client, nodes_.at(login.spec.name).object.get()});
  return std::make_unique<NodeKeeper>(parts_.loop, std::move(kept), parts_.keeper,
                                      [this](const std::string& node) { return condition_of(node); });
}

NodeCondition NodeAgent::condition_of(const std::string& node) const {
  NodeCondition condition;
  if (!agent_->is_running()) condition.problem = agent_->problem();
  if (stopping_) condition.problem = "the node is being shut down";
  condition.port = nodes_.at(node).port;
  condition.images = parts_.runtime.images();
  return condition;
}

Result<void> NodeAgent::start() {
  for (auto& [name, node] : nodes_) node.contact = parts_.loop.clock().mono();
  GW_CHECKED(agent_->start());
  keeper_->start();
  services_->start();
  for (auto& [name, node] : nodes_) {
    node.object->start();
    node.pods->start();
  }
  watch_contact();
  return {};
}

void NodeAgent::set_port(const std::string& node, std::uint16_t port) {
  nodes_.at(node).port = port;
  keeper_->condition_changed();
}

void NodeAgent::watch_contact() {
  const MonoTime now = parts_.loop.clock().mono();
  const LocalServer server = parts_.local_server ? parts_.local_server() : LocalServer::kNone;
  for (auto& [name, node] : nodes_) {
    node.contact = last_contact(node.contact, keeper_->renewed_at(name), server, now);
    if (stopping_) continue;
    const bool fenced = is_fenced(node.contact, now);
    if (fenced) sys::log_warning("no contact for too long: the pods of this node are stopped", {{"node", name}});
    agent_->set_halt(name, fenced ? Halt::kFenced : Halt::kNone);
  }
  contact_timer_ = parts_.loop.run_after(kLookAtContact, [this] { watch_contact(); });
}

void NodeAgent::stop_pods(Duration longest, sys::Task done) {
  stopping_ = true;
  keeper_->condition_changed();
  for (const auto& [name, node] : nodes_) agent_->set_halt(name, Halt::kShutdown);
  wait_for_quiet(parts_.loop.clock().mono() + longest, done);
}

void NodeAgent::wait_for_quiet(MonoTime deadline, const sys::Task& done) {
  if ((agent_->is_running() && agent_->is_settled()) || parts_.loop.clock().mono() >= deadline) return done();
  parts_.loop.run_after(kLookForQuiet, [this, deadline, done, life = std::weak_ptr(life_)] {
    if (!life.expired()) wait_for_quiet(deadline, done);
  });
}

}  // namespace gangway::agent
