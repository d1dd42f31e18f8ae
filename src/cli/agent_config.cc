#include "cli/agent_config.h"

#include "json/access.h"
#include "json/value.h"

namespace gangway::cli {
namespace {

std::string text_at(const json::Value& value, std::string_view key) {
  return std::string(json::string_at(value, {key}));
}

json::Object quantities_json(const std::map<std::string, Quantity>& amounts) {
  json::Object out;
  for (const auto& [name, amount] : amounts) out[name] = amount.to_string();
  return out;
}

std::map<std::string, Quantity> read_quantities(const json::Value& value, std::string_view key) {
  std::map<std::string, Quantity> out;
  for (const auto& member : json::members_at(value, {key})) {
    if (!member.value().is_string()) continue;
    if (auto amount = Quantity::parse(member.value().get_string())) out.emplace(member.key(), std::move(*amount));
  }
  return out;
}

json::Object spec_json(const agent::NodeSpec& spec) {
  json::Object labels;
  for (const auto& [name, value] : spec.labels) labels[name] = value;
  json::Array taints;
  for (const api::Taint& taint : spec.taints) taints.push_back(api::to_json(taint));
  return {{"name", spec.name},
          {"address", spec.address},
          {"roles", json::Array(spec.roles.begin(), spec.roles.end())},
          {"capacity", quantities_json(spec.capacity)},
          {"reserved", quantities_json(spec.reserved)},
          {"labels", std::move(labels)},
          {"taints", std::move(taints)},
          {"imagePolicy", spec.image_policy}};
}

agent::NodeSpec read_spec(const json::Value& value) {
  agent::NodeSpec spec;
  spec.name = text_at(value, "name");
  spec.address = text_at(value, "address");
  spec.roles = json::strings_at(value, {"roles"});
  spec.capacity = read_quantities(value, "capacity");
  spec.reserved = read_quantities(value, "reserved");
  for (const auto& label : json::members_at(value, {"labels"})) {
    if (label.value().is_string()) spec.labels.emplace(label.key(), label.value().get_string());
  }
  for (const json::Value& taint : json::array_at(value, {"taints"}))
    spec.taints.push_back({text_at(taint, "key"), text_at(taint, "value"), text_at(taint, "effect")});
  spec.image_policy = text_at(value, "imagePolicy");
  return spec;
}

json::Object login_json(const AgentLogin& login) {
  return {{"server", login.server},
          {"authority", login.authority_pem},
          {"certificate", login.identity.certificate_pem},
          {"key", login.identity.key_pem},
          {"token", login.token}};
}

AgentLogin read_login(const json::Value& value) {
  return {text_at(value, "server"),
          text_at(value, "authority"),
          {text_at(value, "certificate"), text_at(value, "key")},
          text_at(value, "token")};
}

}  // namespace

std::string write_agent_config(const AgentConfig& config) {
  json::Array nodes;
  for (const auto& node : config.nodes)
    nodes.push_back(
        json::Object{{"spec", spec_json(node.spec)}, {"login", login_json(node.login)}, {"listen", node.listen}});
  return json::serialize(json::Object{{"dataDir", config.data_dir},
                                      {"runtime", config.runtime},
                                      {"besideServer", config.beside_server},
                                      {"clientAuthority", config.client_authority_pem},
                                      {"logLevel", config.log_level},
                                      {"nodes", std::move(nodes)}});
}

Result<AgentConfig> read_agent_config(std::string_view text) {
  GW_TRY(const auto tree, json::parse(text));
  AgentConfig config;
  config.data_dir = text_at(tree, "dataDir");
  config.runtime = text_at(tree, "runtime");
  config.beside_server = json::bool_at(tree, {"besideServer"});
  config.client_authority_pem = text_at(tree, "clientAuthority");
  config.log_level = text_at(tree, "logLevel");
  for (const json::Value& node : json::array_at(tree, {"nodes"})) {
    const json::Value* spec = json::find(node, {"spec"});
    const json::Value* login = json::find(node, {"login"});
    if (spec == nullptr || login == nullptr) return bad_request("a node of the agent's config lacks spec or login");
    config.nodes.push_back({read_spec(*spec), read_login(*login), text_at(node, "listen")});
  }
  if (config.data_dir.empty() || config.nodes.empty()) return bad_request("the agent's config names no nodes");
  return config;
}

}  // namespace gangway::cli
