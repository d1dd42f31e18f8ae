#include <fmt/format.h>

#include "apiserver/nodes/node_address.h"
#include "apiserver/nodes/node_proxy.h"
#include "apiserver/status.h"
#include "apiserver/subresources/subresources.h"

namespace gangway::apiserver {
namespace {

std::vector<std::string> container_names(const json::Value& pod) {
  std::vector<std::string> names;
  for (auto key : {"initContainers", "containers", "ephemeralContainers"}) {
    const auto* containers = json::find(pod, {"spec", key});
    if (!containers || !containers->is_array()) continue;
    for (const auto& container : containers->get_array()) names.emplace_back(json::string_at(container, {"name"}));
  }
  return names;
}

// The container that is meant: the one that is named, or the only one.
Result<std::string> container_of(const Call& call, const json::Value& pod) {
  auto wanted = call.query.get("container");
  auto names = container_names(pod);
  if (!wanted.empty()) {
    if (std::find(names.begin(), names.end(), wanted) != names.end()) return std::string(wanted);
    return bad_request(fmt::format("container {} is not valid for pod {}", wanted, call.info.name));
  }
  const auto* containers = json::find(pod, {"spec", "containers"});
  if (containers && containers->is_array() && containers->get_array().size() == 1)
    return std::string(json::string_at(containers->get_array().front(), {"name"}));
  return bad_request(fmt::format("a container name must be specified for pod {}, choose one of: [{}]", call.info.name,
                                 fmt::join(names, " ")));
}

Result<void> check_log_options(const Call& call) {
  std::vector<Cause> causes;
  auto at_least = [&](std::string_view name, std::int64_t least, std::string_view rule) -> Result<void> {
    GW_TRY(auto number, call.query.integer(name));
    if (number && *number < least) {
      causes.push_back(
          Cause{"FieldValueInvalid", fmt::format("Invalid value: {}: {}", *number, rule), std::string(name)});
    }
    return {};
  };
  GW_CHECKED(at_least("tailLines", 0, "must be greater than or equal to 0"));
  GW_CHECKED(at_least("limitBytes", 1, "must be greater than 0"));
  if (call.query.get("sinceTime").empty()) {
    GW_CHECKED(at_least("sinceSeconds", 1, "must be greater than 0"));
  } else if (!call.query.get("sinceSeconds").empty()) {
    causes.push_back(
        Cause{"FieldValueForbidden", "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified", ""});
  }
  if (causes.empty()) return {};
  return invalid("", "PodLogOptions", call.info.name, std::move(causes));
}

// The agent knows pods' streams by other names.
std::string stream_query(const Call& call) {
  sys::Query query;
  if (call.info.subresource == "portforward") {
    if (auto ports = call.query.all("ports"); !ports.empty())
      query.set("port", fmt::format("{}", fmt::join(ports, ",")));
    return query.text();
  }
  for (auto [theirs, ours] : {std::pair("stdin", "input"), {"stdout", "output"}, {"stderr", "error"}, {"tty", "tty"}}) {
    if (call.query.flag(theirs)) query.set(ours, "1");
  }
  for (auto word : call.query.all("command")) query.set("command", std::string(word));
  return query.text();
}

std::string log_query(const Call& call) {
  sys::Query query;
  for (auto name : {"follow", "previous", "timestamps"}) {
    if (call.query.flag(name)) query.set(name, "true");
  }
  for (auto name : {"sinceSeconds", "sinceTime", "tailLines", "limitBytes"}) {
    if (auto value = call.query.get(name); !value.empty()) query.set(name, std::string(value));
  }
  return query.text();
}

sys::HttpHeaders upgrade_headers(const sys::HttpHeaders& headers) {
  sys::HttpHeaders out;
  for (auto name : {"Connection", "Upgrade", "X-Stream-Protocol-Version", "Sec-WebSocket-Key", "Sec-WebSocket-Version",
                    "Sec-WebSocket-Protocol"}) {
    for (auto value : headers.all(name)) out.add(name, std::string(value));
  }
  return out;
}

// An agent's refusal, in the form that clients know it.
Error refused(int status, std::string_view body) {
  if (status == 400) return bad_request(std::string(body));
  Error error;
  error.message = std::string(body);
  if (status == 404) {
    error.reason = Reason::kNotFound;
    return error;
  }
  if (status != 500) return unforeseen(fmt::format("the agent answered {}: {}", status, body));
  error.message = fmt::format("Internal error occurred: {}", body);
  error.causes.push_back(Cause{"", std::string(body), ""});
  return error;
}

Result<client::NodeAddress> find_agent(const Resources& resources, const Call& call, std::string_view name) {
  auto kind = call.registry->resolve("", "v1", "nodes");
  auto version = resources.store().root()->get({"nodes", {"", std::string(name)}});
  if (!version.json) return not_found(*kind->kind, name);
  GW_TRY(auto node, json::parse(*version.json));
  return agent_address(node);
}

// What to ask of the agent of the pod's node.
Result<NodeRequest> request_for(const Resources& resources, const Call& call, const json::Value& pod,
                                std::string_view container) {
  NodeRequest out;
  GW_TRY(out.to, find_agent(resources, call, json::string_at(pod, {"spec", "nodeName"})));
  const auto& subresource = call.info.subresource;
  const auto path = subresource == "log" ? "containerLogs" : subresource == "portforward" ? "portForward" : subresource;
  out.request.target = fmt::format("/{}/{}/{}", path, call.info.ns, sys::percent_encode(call.info.name));
  if (!container.empty()) out.request.target += fmt::format("/{}", container);
  if (auto query = subresource == "log" ? log_query(call) : stream_query(call); !query.empty())
    out.request.target += "?" + query;
  out.refusal = refused;
  if (subresource == "log") return out;
  if (!call.upgrade) return bad_request("Upgrade request required");
  out.upgrade = true;
  out.request.method = call.method;
  out.request.headers = upgrade_headers(*call.upgrade);
  return out;
}

void answer_for(const Resources& resources, client::NodeDialer* nodes, const CallPtr& call, const api::Version& version,
                const Done& done) {
  auto pod = json::parse(*version.json);
  if (!pod) return done(pod.error());
  std::string container;
  if (call->info.subresource != "portforward") {
    auto named = container_of(*call, *pod);
    if (!named) return done(named.error());
    container = std::move(*named);
  }
  if (json::string_at(*pod, {"spec", "nodeName"}).empty()) {
    // A pod that is nowhere has said nothing yet; there is nothing to run a command in.
    if (call->info.subresource == "log") return done(Answer{204, JsonAnswer{sys::make_buffer(""), ""}});
    return done(bad_request(fmt::format("pod {} does not have a host assigned", call->info.name)));
  }
  auto request = request_for(resources, *call, *pod, container);
  if (!request) return done(request.error());
  ask_node(nodes, call, std::move(*request), done);
}

}  // namespace

bool is_from_node(const RequestInfo& info) {
  if (!info.is_resource || !info.group.empty()) return false;
  if (info.resource == "nodes") return info.subresource == "proxy";
  const auto& name = info.subresource;
  return info.resource == "pods" && (name == "log" || name == "exec" || name == "attach" || name == "portforward");
}

void serve_from_node(Resources& resources, client::NodeDialer* nodes, const CallPtr& call, const Done& done) {
  if (call->info.subresource == "log") {
    if (auto checked = check_log_options(*call); !checked) return done(checked.error());
  }
  resources.get(call, [&resources, nodes, call, done](Result<Answer> answer) {
    if (!answer) return done(std::move(answer));
    answer_for(resources, nodes, call, std::get<ObjectAnswer>(answer->content).object, done);
  });
}

void serve_node_proxy(Resources& resources, client::NodeDialer* nodes, const CallPtr& call, const Done& done) {
  auto agent = find_agent(resources, *call, call->info.name);
  if (!agent) return done(agent.error());
  NodeRequest request{.to = std::move(*agent), .request = {}, .upgrade = call->upgrade.has_value(), .refusal = nullptr};
  std::string_view rest = call->info.rest;
  for (auto slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
    rest.remove_prefix(slash + 1);
    request.request.target += "/" + sys::percent_encode(rest.substr(0, rest.find('/')));
  }
  if (request.request.target.empty()) request.request.target = "/";
  if (auto query = call->query.text(); !query.empty()) request.request.target += "?" + query;
  request.request.method = call->method;
  request.request.body = call->body;
  if (call->upgrade) request.request.headers = upgrade_headers(*call->upgrade);
  if (!call->content_type.empty()) request.request.headers.add("Content-Type", call->content_type);
  ask_node(nodes, call, std::move(request), done);
}

}  // namespace gangway::apiserver
