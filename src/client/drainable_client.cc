#include "client/drainable_client.h"

#include <utility>

namespace gangway::client {

DrainableClient::DrainableClient(ApiClient& behind, sys::EventLoop& loop) : behind_(behind), loop_(loop) {}

void DrainableClient::call(ApiRequest request, sys::Completion<api::Version> done) {
  if (state_->is_closed) {
    Error error;
    error.reason = Reason::kServiceUnavailable;
    error.message = "nothing more is asked of the API: this process stops leading";
    return loop_.post([done = std::move(done), error = std::move(error)] { done(error); });
  }
  ++state_->under_way;
  behind_.call(std::move(request), [state = state_, &loop = loop_, done = std::move(done)](auto answer) {
    --state->under_way;
    done(std::move(answer));
    tell_if_drained(state, loop);
  });
}

void DrainableClient::list(ListRequest request, sys::Completion<ListAnswer> done) {
  behind_.list(std::move(request), std::move(done));
}

std::unique_ptr<sys::Subscription> DrainableClient::watch(WatchRequest request, WatchCallbacks callbacks) {
  return behind_.watch(std::move(request), std::move(callbacks));
}

void DrainableClient::close(sys::Task drained) {
  state_->is_closed = true;
  state_->drained = std::move(drained);
  tell_if_drained(state_, loop_);
}

void DrainableClient::tell_if_drained(const std::shared_ptr<State>& state, sys::EventLoop& loop) {
  if (state->is_closed && state->under_way == 0 && state->drained) loop.post(std::exchange(state->drained, {}));
}

}  // namespace gangway::client
