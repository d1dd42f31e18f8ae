#include "agent/endpoints/node_endpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "agent/endpoints/exec_channels.h"
#include "agent/endpoints/exec_streams.h"
#include "agent/endpoints/forward_channels.h"
#include "agent/endpoints/forward_streams.h"
#include "agent/endpoints/requests.h"
#include "agent/endpoints/stats.h"
#include "agent/logs/log_stream.h"
#include "agent/streams/websocket_tunnel.h"
#include "base/names.h"

namespace gangway::agent {
namespace {

constexpr std::string_view kExecProtocol = "v4.channel.k8s.io";
constexpr std::string_view kForwardProtocol = "portforward.k8s.io";
constexpr std::string_view kTunnelProtocol = "SPDY/3.1+portforward.k8s.io";
constexpr std::string_view kStreamProtocol = "X-Stream-Protocol-Version";

sys::HttpResponse spdy_answer(std::unique_ptr<SpdyHandler> handler, std::string_view protocol) {
  sys::HttpResponse response;
  response.status = 101;
  response.headers.add("Connection", "Upgrade");
  response.headers.add("Upgrade", "SPDY/3.1");
  response.headers.add(std::string(kStreamProtocol), std::string(protocol));
  response.upgrade = std::make_unique<SpdySession>(std::move(handler));
  return response;
}

sys::HttpResponse websocket_answer(std::unique_ptr<sys::WebSocketSession> session, std::string_view protocol) {
  sys::HttpResponse response;
  response.status = 101;
  response.websocket = std::move(session);
  response.websocket_protocol = protocol;
  return response;
}

sys::HttpResponse no_upgrade() {
  return text_answer(400, "unable to upgrade: the request asks for neither a WebSocket nor SPDY/3.1");
}

sys::HttpResponse no_protocol(const sys::HttpHeaders& headers, std::string_view header, std::string_view accepted) {
  return text_answer(403, fmt::format("unable to upgrade: unable to negotiate protocol: client supports [{}], server "
                                      "accepts [{}]",
                                      fmt::join(headers.all(header), " "), accepted));
}

// Who sends no such header is content with what there is.
bool speaks(const sys::HttpHeaders& headers, std::string_view protocol) {
  return headers.get(kStreamProtocol).empty() || offers(headers, kStreamProtocol, protocol);
}

const ServedContainer* running_container(const ServedPod& pod, std::string_view name) {
  const auto found = std::find_if(pod.containers.begin(), pod.containers.end(), [&](const ServedContainer& container) {
    return container.name == name && container.running && container.current;
  });
  return found != pod.containers.end() ? &*found : nullptr;
}

sys::HttpResponse not_found() {
  return text_answer(404, "404 page not found\n");
}

// "…/3.log", where `log` is "…/0.log" and three more runs have followed; empty: there is none.
std::string last_run_beside(const std::string& log) {
  std::string last;
  long highest = -1;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(log).parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    long run = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), run);
    if (error != std::errc() || std::string_view(end) != ".log" || run <= highest) continue;
    highest = run;
    last = entry.path().string();
  }
  return last;
}

}  // namespace

NodeEndpoints::NodeEndpoints(Parts parts) : parts_(std::move(parts)), started_at_(parts_.loop.clock().wall()) {}

void NodeEndpoints::handle(sys::HttpRequest request, sys::EventLoop&, sys::Respond respond) {
  auto target = sys::parse_target(request.target);
  if (!target) return respond(error_answer(target.error()));
  const auto call = std::make_shared<Call>(Call{std::move(request), std::move(*target), std::move(respond)});
  parts_.access.check(call->request, call->target.path,
                      [this, life = std::weak_ptr(life_), call](Result<void> allowed) {
                        if (life.expired()) return;
                        call->respond(allowed ? answer(*call) : error_answer(allowed.error()));
                      });
}

sys::HttpResponse NodeEndpoints::answer(const Call& call) {
  const auto& segments = call.target.segments;
  const std::string_view what = segments.empty() ? std::string_view() : segments.front();
  if (what == "exec" || what == "attach") return run(call);
  if (what == "portForward") return forward(call);
  if (call.request.method != "GET" && call.request.method != "HEAD") return text_answer(405, "405: Method Not Allowed");
  if (what == "containerLogs") return logs(call);
  if (segments.size() == 1 && what == "healthz") return text_answer(200, "ok");
  if (segments.size() == 1 && (what == "pods" || what == "runningpods")) return pods();
  if (call.target.path == "/stats/summary") return stats(false);
  if (call.target.path == "/metrics/resource") return stats(true);
  if (segments.size() == 1 && what == "metrics" && parts_.metrics != nullptr)
    return text_answer(200, parts_.metrics->expose(), std::string(sys::kMetricsContentType));
  return not_found();
}

sys::HttpResponse NodeEndpoints::pods() const {
  auto response =
      text_answer(200, R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":[)", "application/json");
  bool first = true;
  for (const auto& pod : parts_.pods.pods(parts_.node)) {
    if (!pod.object.json) continue;
    if (!std::exchange(first, false)) response.body.push_back(sys::make_buffer(","));
    response.body.push_back(pod.object.json);
  }
  response.body.push_back(sys::make_buffer("]}\n"));
  return response;
}

sys::HttpResponse NodeEndpoints::stats(bool as_metrics) {
  parts_.usage.refresh();
  const auto usage = usage_of(parts_.node, started_at_, parts_.pods.pods(parts_.node), parts_.usage);
  if (as_metrics) return text_answer(200, resource_metrics_of(usage), std::string(sys::kMetricsContentType));
  return text_answer(200, json::serialize(summary_of(usage)), "application/json");
}

// /containerLogs/NAMESPACE/POD/CONTAINER, or with the pod's uid before the container: then it may be one that is gone.
sys::HttpResponse NodeEndpoints::logs(const Call& call) {
  const auto& segments = call.target.segments;
  if (segments.size() != 4 && segments.size() != 5) return not_found();
  const auto options = read_log_options(call.target.query, parts_.loop.clock().wall());
  if (!options) return error_answer(options.error());
  const auto pod = parts_.pods.find(parts_.node, segments[1], segments[2]);
  if (segments.size() == 5 && (!pod || pod->identity.uid != segments[3])) return kept_log(segments, *options);
  if (!pod) return text_answer(404, fmt::format("pod \"{}\" does not exist", segments[2]));
  const auto source = log_source(*pod, segments.back(), options->previous);
  if (!source) return error_answer(source.error());
  auto path = parts_.runtime.log_path(pod->identity, *source);
  auto response = text_answer(200, "");
  if (path.empty()) return response;
  response.stream = std::make_unique<LogStream>(
      parts_.loop, std::move(path), *options,
      [this, life = std::weak_ptr(life_), id = *source] { return life.expired() || !parts_.pods.is_running(id); });
  return response;
}

// What the last run of a container of a pod that is gone has printed, for as long as that stays.
sys::HttpResponse NodeEndpoints::kept_log(const std::vector<std::string>& segments, LogOptions options) {
  const auto missing = [&] {
    return text_answer(404, fmt::format("no log of pod \"{}\" with uid {} is kept here", segments[2], segments[3]));
  };
  // They become names of files.
  for (std::size_t i = 1; i < segments.size(); ++i)
    if (!names::check_dns1123_subdomain(segments[i]).empty()) return missing();
  const PodIdentity pod{.uid = segments[3], .ns = segments[1], .name = segments[2], .node = parts_.node};
  const std::string first = parts_.runtime.log_path(pod, {.pod_uid = pod.uid, .container = segments[4], .attempt = 0});
  std::string path = last_run_beside(first);
  if (path.empty()) return missing();
  auto response = text_answer(200, "");
  response.stream = std::make_unique<LogStream>(parts_.loop, std::move(path), options, [] { return true; });
  return response;
}

// /exec/NAMESPACE/POD/CONTAINER, or with the pod's uid before the container.
sys::HttpResponse NodeEndpoints::run(const Call& call) {
  const auto& segments = call.target.segments;
  if (segments.size() != 4 && segments.size() != 5) return not_found();
  auto spec = read_exec(call.target.query, segments[0] == "attach");
  if (!spec) return error_answer(spec.error());
  const auto pod = parts_.pods.find(parts_.node, segments[1], segments[2]);
  if (!pod || (segments.size() == 5 && segments[3] != pod->identity.uid)) return text_answer(404, "pod does not exist");
  const auto* container = running_container(*pod, segments.back());
  if (container == nullptr) return text_answer(500, fmt::format("container not found (\"{}\")", segments.back()));
  spec->container = *container->current;

  const auto& headers = call.request.headers;
  switch (upgrade_kind(headers)) {
    case UpgradeKind::kWebSocket: {
      const auto offered = fmt::format("{}", fmt::join(headers.all("Sec-WebSocket-Protocol"), ","));
      const auto protocol = choose_channel_protocol(offered);
      if (!protocol) return no_protocol(headers, "Sec-WebSocket-Protocol", "v5.channel.k8s.io v4.channel.k8s.io");
      return websocket_answer(std::make_unique<ExecChannels>(parts_.runtime, std::move(*spec), *protocol),
                              protocol->name);
    }
    case UpgradeKind::kSpdy:
      if (!speaks(headers, kExecProtocol)) return no_protocol(headers, kStreamProtocol, kExecProtocol);
      return spdy_answer(std::make_unique<ExecStreams>(parts_.runtime, std::move(*spec), parts_.loop), kExecProtocol);
    case UpgradeKind::kNone:
      break;
  }
  return no_upgrade();
}

// /portForward/NAMESPACE/POD, or with the pod's uid behind it.
sys::HttpResponse NodeEndpoints::forward(const Call& call) {
  const auto& segments = call.target.segments;
  if (segments.size() != 3 && segments.size() != 4) return not_found();
  const auto pod = parts_.pods.find(parts_.node, segments[1], segments[2]);
  if (!pod || (segments.size() == 4 && segments[3] != pod->identity.uid)) return text_answer(404, "pod does not exist");
  auto forwarding = std::make_shared<Forwarding>(parts_.runtime, parts_.loop, pod->identity);

  const auto& headers = call.request.headers;
  const auto kind = upgrade_kind(headers);
  if (kind == UpgradeKind::kNone) return no_upgrade();
  if (kind == UpgradeKind::kSpdy) {
    if (!speaks(headers, kForwardProtocol)) return no_protocol(headers, kStreamProtocol, kForwardProtocol);
    return spdy_answer(std::make_unique<ForwardStreams>(std::move(forwarding)), kForwardProtocol);
  }
  if (offers(headers, "Sec-WebSocket-Protocol", kTunnelProtocol)) {
    auto spdy = std::make_unique<SpdySession>(std::make_unique<ForwardStreams>(std::move(forwarding)));
    return websocket_answer(std::make_unique<WebSocketTunnel>(std::move(spdy)), kTunnelProtocol);
  }
  auto ports = read_ports(call.target.query);
  if (!ports) return error_answer(ports.error());
  const auto offered = fmt::format("{}", fmt::join(headers.all("Sec-WebSocket-Protocol"), ","));
  const auto protocol = choose_channel_protocol(offered);
  if (!protocol) return no_protocol(headers, "Sec-WebSocket-Protocol", kTunnelProtocol);
  return websocket_answer(std::make_unique<ForwardChannels>(std::move(forwarding), std::move(*ports), *protocol),
                          protocol->name);
}

}  // namespace gangway::agent
