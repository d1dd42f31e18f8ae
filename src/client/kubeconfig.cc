#include "client/kubeconfig.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/base64.h"
#include "json/value.h"
#include "json/yaml.h"
#include "sys/files.h"

namespace gangway::client {
namespace {

// Scalars are text here, also those that YAML takes for numbers: a token may consist of digits.
std::string text_of(const json::Value& node, std::string_view key) {
  const json::Value* value = json::find(node, {key});
  if (value == nullptr || value->is_null() || value->is_structured()) return "";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

// `<key>-data` in base64, or the file that `<key>` names.
Result<std::string> data_of(const json::Value& node, const std::string& key, const std::string& directory) {
  if (const std::string encoded = text_of(node, key + "-data"); !encoded.empty()) {
    auto decoded = base64_decode(encoded);
    if (!decoded) return bad_request(key + "-data: must be base64");
    return std::move(*decoded);
  }
  const std::string file = text_of(node, key);
  if (file.empty()) return std::string();
  const std::filesystem::path path = std::filesystem::path(file).is_absolute() ? file : directory + "/" + file;
  return sys::read_file(path.string());
}

// Calls `read(name, body)` for each entry of a list of {name, <key>: body}.
template <class Read>
Result<void> each_named(const json::Value& root, const char* list, const char* key, const Read& read) {
  const json::Value* found = json::find(root, {list});
  if (found == nullptr || found->is_null()) return {};
  if (!found->is_array()) return bad_request(std::string(list) + ": must be a list");
  std::size_t index = 0;
  for (const json::Value& entry : found->get_array()) {
    const std::string place = std::string(list) + "[" + std::to_string(index++) + "]";
    if (text_of(entry, "name").empty()) return bad_request(place + ".name: is required");
    const json::Value* body = json::find(entry, {key});
    if (body == nullptr || !body->is_object()) return bad_request(place + "." + key + ": must be a map");
    Result<void> result = read(text_of(entry, "name"), *body);
    if (!result) return std::move(result).error().within(place);
  }
  return {};
}

Result<Kubeconfig> read_nodes(const json::Value& root, const std::string& directory) {
  if (!root.is_object()) return bad_request("a kubeconfig must be a map with clusters, users and contexts");
  Kubeconfig config;
  config.current_context = text_of(root, "current-context");
  GW_CHECKED(each_named(root, "clusters", "cluster", [&](std::string name, const json::Value& body) -> Result<void> {
    KubeCluster cluster;
    cluster.name = std::move(name);
    cluster.server = text_of(body, "server");
    cluster.tls_server_name = text_of(body, "tls-server-name");
    cluster.insecure_skip_tls_verify = text_of(body, "insecure-skip-tls-verify") == "true";
    GW_TRY(cluster.ca_data, data_of(body, "certificate-authority", directory));
    config.clusters.push_back(std::move(cluster));
    return {};
  }));
  GW_CHECKED(each_named(root, "users", "user", [&](std::string name, const json::Value& body) -> Result<void> {
    KubeUser user;
    user.name = std::move(name);
    user.token = text_of(body, "token");
    GW_TRY(user.certificate_data, data_of(body, "client-certificate", directory));
    GW_TRY(user.key_data, data_of(body, "client-key", directory));
    config.users.push_back(std::move(user));
    return {};
  }));
  GW_CHECKED(each_named(root, "contexts", "context", [&](std::string name, const json::Value& body) -> Result<void> {
    config.contexts.push_back(
        {std::move(name), text_of(body, "cluster"), text_of(body, "user"), text_of(body, "namespace")});
    return {};
  }));
  return config;
}

void put(json::Object& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

void put_data(json::Object& object, const char* key, const std::string& bytes) {
  if (!bytes.empty()) object[key] = base64_encode(bytes);
}

json::Value named(const std::string& name, const char* key, json::Object body) {
  return json::Object{{"name", name}, {key, std::move(body)}};
}

template <class T>
const T* find_named(const std::vector<T>& all, std::string_view name) {
  auto at = std::find_if(all.begin(), all.end(), [&](const T& one) { return one.name == name; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view yaml, const std::string& directory) {
  GW_TRY(const std::vector<json::Value> documents, json::parse_yaml(yaml));
  if (documents.size() != 1) return bad_request("a kubeconfig must be one YAML document");
  return read_nodes(documents[0], directory);
}

std::string write_kubeconfig(const Kubeconfig& config) {
  json::Array clusters;
  for (const KubeCluster& cluster : config.clusters) {
    json::Object body;
    put(body, "server", cluster.server);
    put_data(body, "certificate-authority-data", cluster.ca_data);
    put(body, "tls-server-name", cluster.tls_server_name);
    if (cluster.insecure_skip_tls_verify) body["insecure-skip-tls-verify"] = true;
    clusters.push_back(named(cluster.name, "cluster", std::move(body)));
  }
  json::Array users;
  for (const KubeUser& user : config.users) {
    json::Object body;
    put_data(body, "client-certificate-data", user.certificate_data);
    put_data(body, "client-key-data", user.key_data);
    put(body, "token", user.token);
    users.push_back(named(user.name, "user", std::move(body)));
  }
  json::Array contexts;
  for (const KubeContext& context : config.contexts) {
    json::Object body;
    put(body, "cluster", context.cluster);
    put(body, "user", context.user);
    put(body, "namespace", context.ns);
    contexts.push_back(named(context.name, "context", std::move(body)));
  }
  return json::to_yaml(json::Object{{"apiVersion", "v1"},
                                    {"kind", "Config"},
                                    {"clusters", std::move(clusters)},
                                    {"users", std::move(users)},
                                    {"contexts", std::move(contexts)},
                                    {"current-context", config.current_context}});
}

Result<Kubeconfig> read_kubeconfig_file(const std::string& path) {
  GW_TRY(const std::string text, sys::read_file(path));
  auto config = parse_kubeconfig(text, std::filesystem::path(path).parent_path().string());
  if (!config) return std::move(config).error().within(path);
  return config;
}

Result<void> write_kubeconfig_file(const std::string& path, const Kubeconfig& config) {
  return sys::atomic_write(path, write_kubeconfig(config), 0600);
}

Result<Login> login_for(const Kubeconfig& config, std::string_view context) {
  const std::string wanted(context.empty() ? std::string_view(config.current_context) : context);
  const KubeContext* found = find_named(config.contexts, wanted);
  if (found == nullptr) {
    std::string known;
    for (const KubeContext& one : config.contexts) known += (known.empty() ? "" : ", ") + one.name;
    return bad_request("context \"" + wanted +
                       "\" does not exist; the contexts are: " + (known.empty() ? "none" : known));
  }
  const KubeCluster* cluster = find_named(config.clusters, found->cluster);
  if (cluster == nullptr)
    return bad_request("context \"" + wanted + "\": cluster \"" + found->cluster + "\" does not exist");
  const KubeUser* user = find_named(config.users, found->user);
  if (user == nullptr) return bad_request("context \"" + wanted + "\": user \"" + found->user + "\" does not exist");
  return Login{*cluster, *user, found->ns.empty() ? "default" : found->ns};
}

}  // namespace gangway::client
