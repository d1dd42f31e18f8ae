// What `gangway up` tells the agent that it starts: its nodes, and how it logs in as each of them. A file of mode 0600,
// since it holds keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/node/node_spec.h"
#include "base/result.h"
#include "sys/tls.h"

namespace gangway::cli {

struct AgentLogin {
  std::string server;  // "https://127.0.0.1:6443"
  std::string authority_pem;
  sys::TlsIdentity identity;  // empty: it has a token
  std::string token;
};

struct AgentConfig {
  std::string data_dir;
  std::string runtime = "oci";  // "simulated": nothing is started
  // The server is on this machine and data directory: it issues certificates, and whether it runs is known.
  bool beside_server = true;
  std::string client_authority_pem;  // whom the agent's endpoints believe
  std::string log_level = "info";
  struct Node {
    agent::NodeSpec spec;
    AgentLogin login;
    std::string listen;  // the address that it serves at; not always the one that it is shown with
  };
  std::vector<Node> nodes;
};

std::string write_agent_config(const AgentConfig& config);
Result<AgentConfig> read_agent_config(std::string_view text);

}  // namespace gangway::cli
