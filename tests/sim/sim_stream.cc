#include "sim/sim_stream.h"

#include <optional>
#include <utility>
#include <vector>

namespace gangway::sim {
namespace {

using client::WatchEvent;

Error an_error(Reason reason) {
  return {.reason = reason, .message = "injected: " + std::string(to_string(reason)), .subject = {}, .causes = {}};
}

// Events leave the server in order and arrive in order; how late is decided for each bundle anew.
class Stream final : public Exchange, public std::enable_shared_from_this<Stream> {
 public:
  Stream(const std::shared_ptr<SimClient::Side>& side, Gate& gate, client::WatchCallbacks callbacks)
      : side_(side), gate_(gate), callbacks_(std::move(callbacks)) {}

  // ── at the server ──
  void arrive(const client::WatchRequest& request, const apiserver::UserInfo& user, std::uint64_t life) {
    auto* port = gate_.port();
    if (!callbacks_.on_event) return;
    if (auto side = side_.lock(); side != nullptr && side->wire.is_cut(user.name)) return break_off();
    if (port == nullptr || gate_.life() != life) return break_off();
    port_ = port;
    number_ = port->begin(shared_from_this());
    client::WatchCallbacks callbacks{
        .on_event = [this](WatchEvent event) { push(std::move(event)); },
        .on_end = [this](Result<void> result) { finish(std::move(result)); },
    };
    at_server_ = port->as(user).watch(request, std::move(callbacks));
  }
  void break_off() override {
    port_ = nullptr;
    // The subscription belongs to the server's objects, which go before this one does.
    at_server_.reset();
    finish(an_error(Reason::kServiceUnavailable));
  }
  // The client has let go. Arrives on the wire.
  void close_at_server() {
    at_server_.reset();
    if (port_ != nullptr) port_->end(number_);
    port_ = nullptr;
  }

  // ── at the client ──
  void close() { callbacks_ = {}; }

 private:
  void push(WatchEvent event) {
    if (end_) return;
    // Of several bookmarks in a row the last says it all.
    const bool replaces = event.type == WatchEvent::Type::kBookmark && !outbox_.empty() &&
                          outbox_.back().type == WatchEvent::Type::kBookmark;
    if (replaces) outbox_.pop_back();
    outbox_.push_back(std::move(event));
    if (replaces) return;
    if (auto side = side_.lock()) {
      auto& faults = side->wire.faults();
      if (faults.happens("watch.break", 20'000)) return finish(an_error(Reason::kInternalError));
      if (faults.happens("watch.expire", 10'000)) return finish(an_error(Reason::kExpired));
      if (faults.happens("watch.end", 20'000)) return finish({});
    }
    deliver();
  }

  void finish(Result<void> result) {
    if (end_) return;
    end_ = std::move(result);
    // What was not delivered is lost with the connection; whoever watches again gets it then.
    if (auto side = side_.lock(); side != nullptr && side->wire.simulation().random().below(2) == 0) outbox_.clear();
    deliver();
  }

  void deliver() {
    auto side = side_.lock();
    if (side == nullptr || !side->process.is_alive() || std::exchange(on_its_way_, true)) return;
    side->loop.run_after(way(side->wire), [self = shared_from_this()] {
      self->on_its_way_ = false;
      self->hand_over();
    });
  }

  static Duration way(Wire& wire) {
    auto& random = wire.simulation().random();
    if (wire.faults().happens("watch.lag", 100'000)) return random.up_to(std::chrono::seconds(20));
    if (wire.faults().happens("watch.silent", 5'000)) return random.up_to(std::chrono::minutes(2));
    return wire.way();
  }

  void hand_over() {
    auto side = side_.lock();
    if (side == nullptr) return;
    if (const auto& user = side->user.name; side->wire.is_cut(user)) {
      // Found out about when packets come through again, which may be sooner than was said.
      if (!end_) end_ = an_error(Reason::kServiceUnavailable);
      outbox_.clear();
      on_its_way_ = true;
      side->loop.run_after(std::chrono::seconds(5), [self = shared_from_this()] { self->hand_over(); });
      return;
    }
    auto events = std::exchange(outbox_, {});
    const auto end = end_;
    for (auto& event : events) {
      // A callback may let go of the stream.
      if (!callbacks_.on_event) return;
      callbacks_.on_event(std::move(event));
    }
    if (!end || !callbacks_.on_end) return;
    const auto callbacks = std::exchange(callbacks_, {});
    callbacks.on_end(*end);
  }

  std::weak_ptr<SimClient::Side> side_;
  Gate& gate_;
  client::WatchCallbacks callbacks_;
  std::unique_ptr<sys::Subscription> at_server_;
  ServerPort* port_ = nullptr;
  std::uint64_t number_ = 0;
  std::vector<WatchEvent> outbox_;
  std::optional<Result<void>> end_;
  bool on_its_way_ = false;
};

class StreamSubscription final : public sys::Subscription {
 public:
  StreamSubscription(std::shared_ptr<Stream> stream, const std::shared_ptr<SimClient::Side>& side)
      : stream_(std::move(stream)), side_(side) {}
  ~StreamSubscription() override {
    stream_->close();
    if (auto side = side_.lock()) side->wire.carry(side->wire.way(), [stream = stream_] { stream->close_at_server(); });
  }

 private:
  std::shared_ptr<Stream> stream_;
  std::weak_ptr<SimClient::Side> side_;
};

}  // namespace

std::unique_ptr<sys::Subscription> begin_stream(const std::shared_ptr<SimClient::Side>& side, Gate& gate,
                                                client::WatchRequest request, client::WatchCallbacks callbacks) {
  auto stream = std::make_shared<Stream>(side, gate, std::move(callbacks));
  side->wire.carry(side->wire.way(), [stream, request = std::move(request), user = side->user, life = gate.life()] {
    stream->arrive(request, user, life);
  });
  return std::make_unique<StreamSubscription>(stream, side);
}

}  // namespace gangway::sim
