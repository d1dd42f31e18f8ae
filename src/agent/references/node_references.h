// NodeReferences: what the pods of an agent's nodes name, looked up with the rights of their nodes. Put together from
// KeyWatches, Claims and Tokens of each node, and the services of the cluster. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/pod/references.h"
#include "agent/references/claims.h"
#include "agent/references/key_watches.h"
#include "agent/references/named_objects.h"
#include "agent/references/tokens.h"
#include "client/informer.h"

namespace gangway::agent {

class NodeReferences final : public PodReferences {
 public:
  // `clients`: by node. `services`: all of the cluster, started by its owner.
  NodeReferences(sys::EventLoop& loop, const std::map<std::string, client::ApiClient*>& clients,
                 const client::Informer& services, std::function<void(const std::string& pod_uid)> on_change);

  void hold(const PodSpec& pod) override;
  void release(const std::string& pod_uid) override;

  Looked<KeyValues> keys(KeyHolder in, const std::string& ns, const std::string& name) const override;
  Looked<ClaimedPath> claim(const std::string& ns, const std::string& name) const override;
  Looked<std::string> token(const PodIdentity& pod, const std::string& account,
                            const TokenSource& wanted) const override;
  std::vector<ServiceAddress> services(const std::string& ns) const override;

 private:
  struct Node {
    Node(client::ApiClient& client, sys::EventLoop& loop, const std::function<void(const std::string&)>& on_change)
        : keys(client, loop, on_change), claims(client, loop, on_change), tokens(client, loop, on_change) {}
    KeyWatches keys;
    Claims claims;
    Tokens tokens;
  };
  struct Held {
    PodIdentity pod;
    api::Revision revision = 0;
    NamedObjects objects;
  };

  void let_go(Node& node, const Held& held, const NamedObjects& keep);

  const client::Informer& services_;
  std::map<std::string, std::unique_ptr<Node>> nodes_;
  std::map<std::string, Held> held_;  // by uid
};

// None for a service without an address of its own.
std::optional<ServiceAddress> read_service(const json::Value& service);

}  // namespace gangway::agent
