#include "sim/sim_client.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "client/resource.h"
#include "sim/sim_stream.h"

namespace gangway::sim {
namespace {

Error broken_connection() {
  return {.reason = Reason::kServiceUnavailable, .message = "the connection broke", .subject = {}, .causes = {}};
}

// One call or list, from the client's side.
template <class Answer>
class PendingCall final : public Exchange, public std::enable_shared_from_this<PendingCall<Answer>> {
 public:
  PendingCall(const std::shared_ptr<SimClient::Side>& side, sys::Completion<Answer> done)
      : side_(side), done_(std::move(done)) {}

  void start_timeout() {
    auto side = side_.lock();
    timeout_ = side->loop.run_after(SimClient::kTimeout, [self = this->shared_from_this()] {
      self->timeout_ = sys::TimerId::kNone;
      self->settle(Error{.reason = Reason::kTimeout, .message = "no answer in time", .subject = {}, .causes = {}});
    });
  }

  // Sends the answer on its way to the client.
  void answer(Result<Answer> result) {
    auto side = side_.lock();
    if (side == nullptr || !side->process.is_alive()) return;
    auto shared = std::make_shared<Result<Answer>>(std::move(result));
    side->loop.run_after(side->wire.way(), [self = this->shared_from_this(), shared] {
      auto here = self->side_.lock();
      if (here == nullptr || here->wire.is_cut(here->user.name)) return;
      if (!here->punctual && here->wire.faults().kills("crash.client.answer", here->process, 2'000)) return;
      self->settle(std::move(*shared));
    });
  }
  void break_off() override { answer(broken_connection()); }

 private:
  void settle(Result<Answer> result) {
    auto side = side_.lock();
    if (side == nullptr || !done_) return;
    if (!result) side->wire.simulation().note(side->user.name, "failed", result.error().message);
    if (!result && result.error().reason == Reason::kBadRequest)
      side->wire.report_nonsense(side->user.name + " sent what nobody understands: " + result.error().message);
    side->loop.cancel(timeout_);
    std::exchange(done_, nullptr)(std::move(result));
  }

  std::weak_ptr<SimClient::Side> side_;
  sys::Completion<Answer> done_;
  sys::TimerId timeout_ = sys::TimerId::kNone;
};

// What a busy or unlucky server says instead of doing it.
std::optional<Error> refusal(testing::Faults& faults, bool is_write) {
  const auto error = [](Reason reason, int retry_after) {
    return Error{.reason = reason,
                 .message = "injected: " + std::string(to_string(reason)),
                 .subject = {},
                 .causes = {},
                 .retry_after_seconds = retry_after};
  };
  if (is_write && faults.happens("api.conflict", 200'000)) return error(Reason::kConflict, 0);
  if (faults.happens("api.too_many", 100'000)) return error(Reason::kTooManyRequests, 1);
  if (faults.happens("api.internal", 100'000)) return error(Reason::kInternalError, 0);
  return std::nullopt;
}

std::string_view verb_of(client::Method method) {
  constexpr std::array<std::string_view, 5> kVerbs = {"get", "create", "update", "patch", "delete"};
  return kVerbs[static_cast<std::size_t>(method)];
}

// "create pods default/web".
std::string describe(const client::ApiRequest& request) {
  auto text = std::string(verb_of(request.method)) + " " + client::describe(request.resource, request.object);
  if (!request.subresource.empty()) text += "/" + request.subresource;
  return text;
}

}  // namespace

SimClient::SimClient(Wire& wire, Gate& gate, testing::SimProcess& process, testing::SimLoop& loop,
                     apiserver::UserInfo user)
    : gate_(gate), side_(new Side{wire, process, loop, std::move(user)}) {}

SimClient::~SimClient() = default;

template <class Answer, class Ask>
void SimClient::exchange(std::string_view what, std::string_view detail, bool is_write, sys::Completion<Answer> done,
                         Ask ask) {
  auto& faults = side_->wire.faults();
  if (!side_->punctual && faults.kills("crash.client.call", side_->process, 2'000)) return;
  if (is_write) side_->wire.simulation().note(side_->user.name, what, detail);
  auto call = std::make_shared<PendingCall<Answer>>(side_, std::move(done));
  if (!side_->punctual) call->start_timeout();
  if (side_->wire.is_cut(side_->user.name)) return;
  if (auto error = refusal(faults, is_write)) return call->answer(std::move(*error));
  if (faults.happens("api.request_reset", 100'000)) return call->break_off();
  if (!side_->punctual && faults.happens("api.request_lost", 50'000)) return;
  side_->wire.carry(side_->wire.way(), [&gate = gate_, life = gate_.life(), &wire = side_->wire, user = side_->user,
                                        call, is_write, punctual = side_->punctual, ask = std::move(ask)] {
    auto* port = gate.port();
    if (wire.is_cut(user.name)) return;
    if (port == nullptr || gate.life() != life) return call->break_off();
    if (wire.faults().kills("crash.server.request", port->process(), 2'000)) return call->break_off();
    const auto number = port->begin(call);
    ask(port->as(user), [port, number, call, is_write, punctual, &wire](Result<Answer> answer) {
      port->end(number);
      if (wire.faults().kills(is_write ? "crash.server.committed" : "crash.server.read", port->process(), 2'000))
        return call->break_off();
      if (wire.faults().happens("api.answer_reset", 100'000)) return call->break_off();
      if (!punctual && wire.faults().happens("api.answer_lost", 50'000)) return;
      call->answer(std::move(answer));
    });
  });
}

void SimClient::call(client::ApiRequest request, sys::Completion<api::Version> done) {
  const bool is_write = request.method != client::Method::kGet;
  exchange<api::Version>(describe(request), request.body, is_write, std::move(done),
                         [request](apiserver::DirectClient& server, sys::Completion<api::Version> answer) {
                           server.call(request, std::move(answer));
                         });
}

void SimClient::list(client::ListRequest request, sys::Completion<client::ListAnswer> done) {
  exchange<client::ListAnswer>("list", "", false, std::move(done),
                               [request](apiserver::DirectClient& server, sys::Completion<client::ListAnswer> answer) {
                                 server.list(request, std::move(answer));
                               });
}

std::unique_ptr<sys::Subscription> SimClient::watch(client::WatchRequest request, client::WatchCallbacks callbacks) {
  return begin_stream(side_, gate_, std::move(request), std::move(callbacks));
}

}  // namespace gangway::sim
