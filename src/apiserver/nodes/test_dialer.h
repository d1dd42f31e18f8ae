// For tests: agents that answer as the test says, and remember what they were asked.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/node_dialer.h"
#include "sys/event_loop.h"

namespace gangway::apiserver {

// One request to an agent, and the test's hand on it.
struct TestExchange {
  client::NodeAddress to;
  client::HttpClientRequest request;
  client::StreamCallbacks callbacks;          // of a stream
  std::unique_ptr<sys::ByteSession> session;  // of an upgrade
  sys::Completion<client::HttpClientResponse> upgraded;
  bool paused = false;
  bool dropped = false;  // the stream or the transport is gone
};

class TestDialer final : public client::NodeDialer {
 public:
  explicit TestDialer(sys::EventLoop& loop) : loop_(loop) {}

  Result<std::unique_ptr<client::Transport>> dial(const client::NodeAddress& node, sys::EventLoop&) override {
    if (refuses) return bad_request("the network is down");
    return std::unique_ptr<client::Transport>(std::make_unique<TestTransport>(*this, node));
  }

  bool refuses = false;
  std::vector<std::shared_ptr<TestExchange>> exchanges;

 private:
  class Source final : public client::BodySource {
   public:
    explicit Source(std::shared_ptr<TestExchange> exchange) : exchange_(std::move(exchange)) {}
    ~Source() override { exchange_->dropped = true; }
    void pause(bool paused) override { exchange_->paused = paused; }

   private:
    std::shared_ptr<TestExchange> exchange_;
  };
  class TestTransport final : public client::Transport {
   public:
    TestTransport(TestDialer& dialer, client::NodeAddress to) : dialer_(dialer), to_(std::move(to)) {}
    ~TestTransport() override {
      if (const auto exchange = exchange_.lock()) exchange->dropped = true;
    }
    void send(client::HttpClientRequest, sys::Completion<client::HttpClientResponse> done) override {
      dialer_.loop_.post([done = std::move(done)] { done(bad_request("not in this test")); });
    }
    std::unique_ptr<client::BodySource> stream(client::HttpClientRequest request,
                                               client::StreamCallbacks callbacks) override {
      remember(std::move(request)).callbacks = std::move(callbacks);
      return std::make_unique<Source>(exchange_.lock());
    }
    void upgrade(client::HttpClientRequest request, std::unique_ptr<sys::ByteSession> session,
                 sys::Completion<client::HttpClientResponse> done) override {
      auto& exchange = remember(std::move(request));
      exchange.session = std::move(session);
      exchange.upgraded = std::move(done);
    }

   private:
    TestExchange& remember(client::HttpClientRequest request) {
      const auto exchange = std::make_shared<TestExchange>();
      exchange->to = to_;
      exchange->request = std::move(request);
      dialer_.exchanges.push_back(exchange);
      exchange_ = exchange;
      return *exchange;
    }
    TestDialer& dialer_;
    client::NodeAddress to_;
    std::weak_ptr<TestExchange> exchange_;  // its session keeps us
  };
  sys::EventLoop& loop_;
};

}  // namespace gangway::apiserver
