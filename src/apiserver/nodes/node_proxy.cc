#include "apiserver/nodes/node_proxy.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/nodes/splice.h"
#include "apiserver/status.h"

namespace gangway::apiserver {
namespace {

// What may wait for a slow client before the agent is stopped.
constexpr std::size_t kHighWater = 256 * 1024;
// Of an answer that is an error.
constexpr std::size_t kMaxRefusal = 64 * 1024;

Error unreachable(const Error& error) {
  return unforeseen(fmt::format("error dialing backend: {}", error.message));
}

// These are about the agent's connection, not the client's.
bool is_of_connection(std::string_view name, int status) {
  return sys::same_header(name, "Content-Length") || sys::same_header(name, "Transfer-Encoding") ||
         sys::same_header(name, "Date") || (status != 101 && sys::same_header(name, "Connection"));
}

sys::HttpResponse head_of(const client::HttpClientResponse& head) {
  sys::HttpResponse response;
  response.status = head.status;
  for (const auto& [name, value] : head.headers.entries())
    if (!is_of_connection(name, head.status)) response.headers.add(name, value);
  return response;
}

// One answer of an agent, from its head to its last byte. It keeps itself until it has answered; from then on it is the
// client's body that keeps it.
class NodeFetch final : public std::enable_shared_from_this<NodeFetch> {
 public:
  NodeFetch(CallPtr call, Done done, std::unique_ptr<client::Transport> transport, Refusal refusal)
      : call_(std::move(call)),
        done_(std::move(done)),
        refusal_(std::move(refusal)),
        transport_(std::move(transport)) {}

  void start(client::HttpClientRequest request) {
    keep_ = shared_from_this();
    client::StreamCallbacks callbacks;
    callbacks.on_head = [this](const client::HttpClientResponse& head) { on_head(head); };
    callbacks.on_data = [this](std::string_view bytes) { on_data(bytes); };
    callbacks.on_end = [this](Result<void> end) { on_end(std::move(end)); };
    source_ = transport_->stream(std::move(request), std::move(callbacks));
  }

 private:
  class Body;

  void on_head(const client::HttpClientResponse& head);
  void on_data(std::string_view bytes);
  void on_end(Result<void> end);
  void answer(Result<Answer> answer);
  void wake() const {
    if (waker_) waker_();
  }

  CallPtr call_;
  Done done_;  // until it has answered
  Refusal refusal_;
  std::shared_ptr<NodeFetch> keep_;
  std::unique_ptr<client::Transport> transport_;
  std::unique_ptr<client::BodySource> source_;  // goes before its transport
  int refused_ = 0;                             // the status of an answer that is an error
  std::string waiting_;
  bool paused_ = false;
  bool ended_ = false;
  sys::Task waker_;
};

class NodeFetch::Body final : public sys::BodyStream {
 public:
  explicit Body(std::shared_ptr<NodeFetch> fetch) : fetch_(std::move(fetch)) {}
  ~Body() override {
    fetch_->waker_ = nullptr;
    // By post: this may run inside a callback of the fetch's own transport.
    auto& loop = fetch_->call_->here;
    loop.post([keep = std::move(fetch_)] {});
  }
  State read(std::vector<sys::Buffer>& out, std::size_t) override {
    auto& fetch = *fetch_;
    if (!fetch.waiting_.empty()) out.push_back(sys::make_buffer(std::exchange(fetch.waiting_, {})));
    if (fetch.ended_) return State::kEnd;
    if (std::exchange(fetch.paused_, false)) fetch.source_->pause(false);
    return State::kWait;
  }
  void set_waker(sys::Task waker) override { fetch_->waker_ = std::move(waker); }
  bool may_stall() const override { return true; }

 private:
  std::shared_ptr<NodeFetch> fetch_;
};

void NodeFetch::on_head(const client::HttpClientResponse& head) {
  if (refusal_ && (head.status < 200 || head.status > 299)) {
    refused_ = head.status;
    return;
  }
  auto response = head_of(head);
  response.stream = std::make_unique<Body>(shared_from_this());
  answer(Answer{response.status, ResponseAnswer{std::move(response)}});
}

void NodeFetch::on_data(std::string_view bytes) {
  if (refused_ != 0 && waiting_.size() >= kMaxRefusal) return;
  waiting_ += bytes;
  if (waiting_.size() > kHighWater && !std::exchange(paused_, true)) source_->pause(true);
  wake();
}

void NodeFetch::on_end(Result<void> end) {
  ended_ = true;
  if (!done_) return wake();
  if (refused_ != 0) return answer(refusal_(refused_, waiting_));
  answer(end ? unforeseen("the agent did not answer") : unreachable(end.error()));
}

void NodeFetch::answer(Result<Answer> answer) {
  call_->here.post([keep = std::exchange(keep_, nullptr)] {});
  std::exchange(done_, nullptr)(std::move(answer));
}

void upgrade_to_node(std::unique_ptr<client::Transport> transport, const CallPtr& call, NodeRequest request,
                     const Done& done) {
  const auto splice = std::make_shared<Splice>(call->here, std::move(transport));
  auto& connection = splice->transport();
  connection.upgrade(std::move(request.request), splice->agent_half(),
                     [done, refusal = std::move(request.refusal),
                      weak = std::weak_ptr(splice)](Result<client::HttpClientResponse> answer) {
                       if (!answer) return done(unreachable(answer.error()));
                       const auto self = weak.lock();
                       if (answer->status != 101 || !self) {
                         if (refusal) return done(refusal(answer->status, answer->body));
                         auto response = head_of(*answer);
                         response.body.push_back(sys::make_buffer(std::move(answer->body)));
                         return done(Answer{response.status, ResponseAnswer{std::move(response)}});
                       }
                       auto response = head_of(*answer);
                       response.upgrade = self->client_half();
                       done(Answer{101, ResponseAnswer{std::move(response)}});
                     });
}

}  // namespace

void ask_node(client::NodeDialer* dialer, const CallPtr& call, NodeRequest request, const Done& done) {
  if (dialer == nullptr) return done(unreachable(internal_error("this server reaches no agents")));
  auto transport = dialer->dial(request.to, call->here);
  if (!transport) return done(unreachable(transport.error()));
  if (request.upgrade) return upgrade_to_node(std::move(*transport), call, std::move(request), done);
  std::make_shared<NodeFetch>(call, done, std::move(*transport), std::move(request.refusal))
      ->start(std::move(request.request));
}

}  // namespace gangway::apiserver
