// NodeAgent: everything that an agent's process does for its nodes, put together: their pods (Agent), their objects and
// leases (NodeKeeper), what pods name (NodeReferences), and the fence. Each node logs in by itself, with its own
// rights.
//
// What it knows of the outside are seams: clients, a Runtime, Records, Fetch. Belongs to one loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/node/fence.h"
#include "agent/node/node_keeper.h"
#include "agent/references/node_references.h"
#include "sys/fetch.h"

namespace gangway::agent {

struct NodeLogin {
  NodeSpec spec;
  client::ApiClient* client = nullptr;  // as system:node:<name>
};

struct NodeAgentParts {
  sys::EventLoop& loop;
  Runtime& runtime;
  Records& records;
  sys::Fetch& fetch;
  std::vector<NodeLogin> nodes;
  NodeKeeperOptions keeper = {};
  // Where pods reach the API while nothing is known of its service.
  std::string api_host = {};
  std::uint16_t api_port = 443;
  // What is known of a server on this machine; asked every few seconds. Empty: there is none.
  std::function<LocalServer()> local_server = {};
  // See AgentParts.
  std::function<void(const PodSpec&, const PodRecord&)> adopt = {};
};

class NodeAgent {
 public:
  explicit NodeAgent(NodeAgentParts parts);
  ~NodeAgent();
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  // An error says which record cannot be read.
  Result<void> start();
  // Where the node serves what a kubelet serves.
  void set_port(const std::string& node, std::uint16_t port);
  // Stops all pods, which may run again later, and waits for their end, or for so long.
  void stop_pods(Duration longest, sys::Task done);

  Agent& agent() { return *agent_; }
  const Agent& agent() const { return *agent_; }

 private:
  struct Node {
    client::ApiClient* client = nullptr;
    std::unique_ptr<client::Informer> pods;
    std::unique_ptr<client::Informer> object;
    std::uint16_t port = 0;
    MonoTime contact;
  };

  std::unique_ptr<Agent> make_agent();
  std::unique_ptr<NodeKeeper> make_keeper();
  NodeCondition condition_of(const std::string& node) const;
  void watch_contact();
  void wait_for_quiet(MonoTime deadline, const sys::Task& done);

  NodeAgentParts parts_;
  std::map<std::string, Node> nodes_;
  std::unique_ptr<client::Informer> services_;
  std::unique_ptr<NodeReferences> references_;
  std::unique_ptr<Checks> checks_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<NodeKeeper> keeper_;
  bool stopping_ = false;
  sys::TimerId contact_timer_ = sys::TimerId::kNone;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

// What the pods of a node need to know of it. `scheme`: what ids of containers begin with.
NodeFacts facts_of(const NodeSpec& node, const Runtime& runtime);

}  // namespace gangway::agent
