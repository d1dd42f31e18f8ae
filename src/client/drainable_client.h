// DrainableClient: an ApiClient in front of another that can be closed, and says when the last call was answered.
//
// For whoever must not leave writes behind: after close() nothing more gets through, and once it has drained nothing of
// what did is on its way. Lists and watches write nothing and pass. Runs on the loop of the client behind it.
#pragma once

#include <cstddef>
#include <memory>

#include "client/api_client.h"
#include "sys/event_loop.h"

namespace gangway::client {

class DrainableClient final : public ApiClient {
 public:
  // Both outlive it; calls that are under way when it ends are answered all the same.
  DrainableClient(ApiClient& behind, sys::EventLoop& loop);

  void call(ApiRequest request, sys::Completion<api::Version> done) override;
  void list(ListRequest request, sys::Completion<ListAnswer> done) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> watch(WatchRequest request, WatchCallbacks callbacks) override;

  // From now on calls fail without being made. `drained` comes by post, once.
  void close(sys::Task drained);
  std::size_t under_way() const { return state_->under_way; }

 private:
  struct State {
    std::size_t under_way = 0;
    bool is_closed = false;
    sys::Task drained;
  };
  static void tell_if_drained(const std::shared_ptr<State>& state, sys::EventLoop& loop);

  ApiClient& behind_;
  sys::EventLoop& loop_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace gangway::client
