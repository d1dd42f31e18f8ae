#include "node_readiness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "json/value.h"
#include "sys/file_descriptor.h"

namespace gangway {
namespace {

bool is_ready(const json::Value& node) {
  const auto* conditions = json::find(node, {"status", "conditions"});
  if (!conditions || !conditions->is_array()) return false;
  const auto& all = conditions->get_array();
  return std::any_of(all.begin(), all.end(), [](const json::Value& condition) {
    return json::string_at(condition, {"type"}) == "Ready" && json::string_at(condition, {"status"}) == "True";
  });
}

bool answers(const std::string& address, std::uint16_t port) {
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &peer.sin_addr) != 1) return true;  // not ours to judge
  const sys::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer) == 0;
}

std::string name_of(const json::Value& node) {
  return std::string(json::string_at(node, {"metadata", "name"}));
}

bool is_reachable(const json::Value& node, const std::map<std::string, std::string>& agents) {
  const auto agent = agents.find(name_of(node));
  if (agent == agents.end()) return true;
  const auto* port = json::find(node, {"status", "daemonEndpoints", "kubeletEndpoint", "Port"});
  if (!port || !port->is_int64() || port->get_int64() == 0) return false;
  return answers(agent->second, static_cast<std::uint16_t>(port->get_int64()));
}

template <class Holds>
std::size_t count_nodes(const store::Root& root, const Holds& holds) {
  std::size_t count = 0;
  for (const auto& version : root.objects("nodes")) {
    const auto node = json::parse(*version.json);
    if (node && holds(*node)) ++count;
  }
  return count;
}

}  // namespace

std::size_t ready_nodes(const store::Root& root) {
  return count_nodes(root, is_ready);
}

std::size_t reachable_nodes(const store::Root& root, const std::set<std::string>& wanted,
                            const std::map<std::string, std::string>& agents) {
  return count_nodes(root, [&](const json::Value& node) {
    return wanted.contains(name_of(node)) && is_ready(node) && is_reachable(node, agents);
  });
}

}  // namespace gangway
