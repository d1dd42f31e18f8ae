// NodeEndpoints: what kubelet serves, for one node: logs, exec, attach, portForward, pods, stats and metrics.
//
// No sockets: an HttpServer carries it, and must run on the agent's loop, which all of this belongs to. kubectl comes
// here through our API server (which passes bytes on, whatever they are) or through a real kube-apiserver (which speaks
// SPDY to kubelets); both are known by their client certificate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/endpoints/access.h"
#include "agent/endpoints/pod_directory.h"
#include "agent/endpoints/usage_samples.h"
#include "agent/logs/log_options.h"
#include "agent/runtime.h"
#include "sys/event_loop.h"
#include "sys/http.h"
#include "sys/metrics.h"
#include "sys/url.h"

namespace gangway::agent {

// What the HttpServer should take in one WebSocket message: some clients send all of their input in one.
inline constexpr std::size_t kMaxStreamMessage = std::size_t{32} << 20;

class NodeEndpoints final : public sys::HttpHandler {
 public:
  // All of them outlive it.
  struct Parts {
    std::string node;
    sys::EventLoop& loop;
    Runtime& runtime;
    const PodDirectory& pods;
    Access& access;
    UsageSamples& usage;
    const sys::Metrics* metrics = nullptr;  // of the process, at /metrics
  };
  explicit NodeEndpoints(Parts parts);

  void handle(sys::HttpRequest request, sys::EventLoop& here, sys::Respond respond) override;

 private:
  struct Call {
    sys::HttpRequest request;
    sys::Target target;
    sys::Respond respond;
  };
  sys::HttpResponse answer(const Call& call);
  sys::HttpResponse pods() const;
  sys::HttpResponse stats(bool as_metrics);
  sys::HttpResponse logs(const Call& call);
  sys::HttpResponse kept_log(const std::vector<std::string>& segments, LogOptions options);
  sys::HttpResponse run(const Call& call);
  sys::HttpResponse forward(const Call& call);

  const Parts parts_;
  const WallTime started_at_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
