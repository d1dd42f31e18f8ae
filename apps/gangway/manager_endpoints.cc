#include "manager_endpoints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace gangway {
namespace {

sys::HttpResponse text(int status, std::string body, std::string_view type = "text/plain; charset=utf-8") {
  sys::HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", std::string(type));
  response.body.push_back(sys::make_buffer(std::move(body)));
  return response;
}

}  // namespace

ManagerEndpoints::ManagerEndpoints(const scheduler::Candidate& candidate,
                                   std::function<std::vector<std::string>()> unready)
    : candidate_(candidate), unready_(std::move(unready)) {
  metrics_.on_expose([this] { measure(); });
}

void ManagerEndpoints::handle(sys::HttpRequest request, sys::EventLoop&, sys::Respond respond) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  if (request.method != "GET") return respond(text(405, "only GET\n"));
  if (path == "/healthz" || path == "/livez") return respond(text(200, "ok\n"));
  if (path == "/metrics") return respond(text(200, metrics_.expose(), sys::kMetricsContentType));
  if (path != "/readyz") return respond(text(404, "there are /healthz, /readyz and /metrics\n"));
  const auto unready = unready_();
  if (!unready.empty()) return respond(text(503, fmt::format("{}\n", fmt::join(unready, "\n"))));
  respond(
      text(200, candidate_.is_leading() ? "ok: leading\n" : fmt::format("ok: following {}\n", candidate_.leader())));
}

void ManagerEndpoints::measure() {
  metrics_.gauge("gangway_leading", "Whether this process leads (1) or follows (0).").set(candidate_.is_leading());
  metrics_.gauge("gangway_epoch", "Number of the last term that this process led in.")
      .set(static_cast<double>(candidate_.epoch()));
  for (const client::Controller* controller : candidate_.controllers()) {
    const sys::Metrics::Labels labels{{"controller", controller->name()}};
    const client::ControllerStatus& status = controller->status();
    const auto show = [&](const char* name, const char* help, std::uint64_t value) {
      metrics_.gauge(name, help, labels).set(static_cast<double>(value));
    };
    show("gangway_controller_looks", "Looks since the term began.", status.looks);
    show("gangway_controller_actions", "Requests since the term began.", status.actions);
    show("gangway_controller_failed_actions", "Requests that failed since the term began.", status.failed_actions);
    show("gangway_controller_waiting_keys", "Keys that wait for a look.", controller->queue().waiting());
  }
}

}  // namespace gangway
