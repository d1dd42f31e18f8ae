// HttpWatch: one watch over HTTP. Cuts the stream into lines, each an event in JSON, and tells them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/api_client.h"
#include "client/transport.h"

namespace gangway::client {

class HttpWatch final : public sys::Subscription {
 public:
  HttpWatch(Transport& transport, HttpClientRequest request, std::vector<std::string> fields, WatchCallbacks callbacks);

 private:
  // Shared with the stream's callbacks, so that a callback may destroy the watch it is called from.
  struct State;
  static void on_data(const std::shared_ptr<State>& state, std::string_view bytes);
  static void on_line(const std::shared_ptr<State>& state, std::string_view line);
  static void finish(const std::shared_ptr<State>& state, Result<void> how);

  std::shared_ptr<State> state_;
  std::unique_ptr<sys::Subscription> stream_;
};

}  // namespace gangway::client
