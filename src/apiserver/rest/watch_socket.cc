#include "apiserver/rest/watch_socket.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gangway::apiserver {
namespace {

constexpr std::size_t kPullBytes = 64 * 1024;
// As much as may wait for the peer; the rest stays in the watch log.
constexpr std::size_t kMostUnsent = 256 * 1024;
// A peer that takes nothing for this long is given up, as over HTTP.
constexpr auto kStallTimeout = std::chrono::seconds(30);
constexpr std::uint16_t kNormalClose = 1000;
constexpr std::uint16_t kTryAgainLater = 1013;

class WatchSocket final : public sys::WebSocketSession {
 public:
  WatchSocket(std::unique_ptr<sys::BodyStream> stream, sys::EventLoop& here)
      : stream_(std::move(stream)), here_(here) {}
  ~WatchSocket() override { here_.cancel(stall_); }

  void on_open(sys::WebSocketChannel& channel) override {
    channel_ = &channel;
    stream_->set_waker([this] { pull(); });
    pull();
  }
  void on_message(sys::WebSocketMessage) override {}
  void on_drained() override {
    here_.cancel(std::exchange(stall_, sys::TimerId::kNone));
    pull();
  }
  void on_close() override { channel_ = nullptr; }

 private:
  void pull() {
    while (channel_) {
      if (channel_->unsent() >= kMostUnsent) return await_drain();
      buffers_.clear();
      auto state = stream_->read(buffers_, kPullBytes);
      for (const auto& event : buffers_) channel_->send({.binary = false, .data = *event});
      if (state == sys::BodyStream::State::kWait) return;
      if (state == sys::BodyStream::State::kEnd) end(kNormalClose, "");
    }
  }

  void await_drain() {
    if (stall_ != sys::TimerId::kNone) return;
    stall_ = here_.run_after(kStallTimeout, [this] { end(kTryAgainLater, "events were not read in time"); });
  }

  void end(std::uint16_t code, std::string_view why) {
    if (auto* channel = std::exchange(channel_, nullptr)) channel->close(code, why);
  }

  std::unique_ptr<sys::BodyStream> stream_;
  sys::EventLoop& here_;
  sys::WebSocketChannel* channel_ = nullptr;  // null before it opens and once it closes
  sys::TimerId stall_ = sys::TimerId::kNone;
  std::vector<sys::Buffer> buffers_;  // scratch
};

std::string_view first_of(std::string_view list) {
  auto item = list.substr(0, list.find(','));
  auto begin = std::min(item.find_first_not_of(" \t"), item.size());
  item.remove_prefix(begin);
  return item.substr(0, item.find_last_not_of(" \t") + 1);
}

bool is_websocket(std::string_view token) {
  constexpr std::string_view kName = "websocket";
  return std::equal(token.begin(), token.end(), kName.begin(), kName.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

}  // namespace

bool wants_websocket(const sys::HttpHeaders& headers) {
  return is_websocket(first_of(headers.get("Upgrade")));
}

sys::HttpResponse watch_as_websocket(const sys::HttpHeaders& request, std::unique_ptr<sys::BodyStream> stream,
                                     sys::EventLoop& here) {
  sys::HttpResponse response;
  response.status = 101;
  response.websocket = std::make_unique<WatchSocket>(std::move(stream), here);
  response.websocket_protocol = std::string(first_of(request.get("Sec-WebSocket-Protocol")));
  return response;
}

}  // namespace gangway::apiserver
