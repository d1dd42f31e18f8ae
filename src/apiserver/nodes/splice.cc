#include "apiserver/nodes/splice.h"

#include <utility>

namespace gangway::apiserver {
namespace {

// What may wait for one side before the other is stopped.
constexpr std::size_t kHighWater = 256 * 1024;

}  // namespace

class Splice::Half final : public sys::ByteSession {
 public:
  Half(std::shared_ptr<Splice> splice, Side side) : splice_(std::move(splice)), side_(side) {}
  // A half that was never opened ends the other too: the client may have left before it was answered.
  ~Half() override { splice_->close(side_); }
  void on_open(sys::ByteChannel& channel) override { splice_->open(side_, channel); }
  void on_bytes(std::string_view bytes) override { splice_->pass(side_, bytes); }
  void on_drained() override { splice_->drained(side_); }
  void on_shutdown() override {
    if (auto* channel = splice_->ends_[side_].channel) channel->close();
  }
  void on_close() override { splice_->close(side_); }

 private:
  std::shared_ptr<Splice> splice_;
  const Side side_;
};

Splice::Splice(sys::EventLoop& loop, std::unique_ptr<client::Transport> transport)
    : loop_(loop), transport_(std::move(transport)) {}

Splice::~Splice() {
  // By post: this may run inside a callback of the transport's own connection.
  loop_.post([keep = std::move(transport_)] {});
}

std::unique_ptr<sys::ByteSession> Splice::agent_half() {
  return std::make_unique<Half>(shared_from_this(), kAgent);
}

std::unique_ptr<sys::ByteSession> Splice::client_half() {
  return std::make_unique<Half>(shared_from_this(), kClient);
}

void Splice::open(Side side, sys::ByteChannel& channel) {
  ends_[side].channel = &channel;
  const auto& other = ends_[1 - side];
  if (other.over) return channel.close();
  if (side == kAgent) {
    if (other.channel == nullptr) channel.pause(true);
    return;
  }
  channel.send(std::exchange(early_, {}));
  if (other.channel != nullptr) other.channel->pause(false);
}

void Splice::pass(Side from, std::string_view bytes) {
  auto* to = ends_[1 - from].channel;
  if (to == nullptr) {
    if (from == kAgent && !ends_[kClient].over) early_ += bytes;
    return;
  }
  to->send(bytes);
  if (to->unsent() > kHighWater && ends_[from].channel != nullptr) ends_[from].channel->pause(true);
}

void Splice::drained(Side side) {
  if (auto* source = ends_[1 - side].channel) source->pause(false);
}

void Splice::close(Side side) {
  if (std::exchange(ends_[side].over, true)) return;
  ends_[side].channel = nullptr;
  if (auto* other = ends_[1 - side].channel) other->close();
}

}  // namespace gangway::apiserver
