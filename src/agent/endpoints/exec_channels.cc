#include "agent/endpoints/exec_channels.h"

#include <utility>

namespace gangway::agent {
namespace {

constexpr unsigned kStdin = 0;
constexpr unsigned kStdout = 1;
constexpr unsigned kStderr = 2;
constexpr unsigned kError = 3;
constexpr unsigned kResize = 4;
constexpr unsigned kClose = 255;
constexpr std::uint16_t kNormal = 1000;

}  // namespace

ExecChannels::ExecChannels(Runtime& runtime, ExecSpec spec, ChannelProtocol protocol)
    : protocol_(protocol),
      out_(spec.out),
      err_(spec.err),
      command_(std::make_shared<RemoteCommand>(runtime, std::move(spec))) {}

void ExecChannels::on_open(sys::WebSocketChannel& channel) {
  channel_ = &channel;
  // Clients wait for a first message to know that they are connected.
  send(out_ ? kStdout : err_ ? kStderr : kError, "");
  command_->start(*this);
}

void ExecChannels::on_message(sys::WebSocketMessage message) {
  const auto decoded = decode_channel(protocol_, std::move(message));
  if (!decoded) return;
  if (decoded->channel == kStdin) return command_->input(decoded->bytes);
  if (decoded->channel == kResize) return command_->resize(decoded->bytes);
  const bool closes_stdin = decoded->channel == kClose && decoded->bytes == std::string_view("\0", 1);
  if (closes_stdin && protocol_.can_close) command_->end_input();
}

void ExecChannels::on_close() {
  channel_ = nullptr;
  command_->drop();
}

void ExecChannels::write(int stream, std::string_view bytes) {
  const bool wanted = stream == 1 ? out_ : err_;
  if (wanted && !bytes.empty()) send(stream == 1 ? kStdout : kStderr, bytes);
}

std::size_t ExecChannels::unsent() const {
  return channel_ != nullptr ? channel_->unsent() : 0;
}

void ExecChannels::pause_input(bool paused) {
  if (channel_ != nullptr) channel_->pause(paused);
}

void ExecChannels::end(const json::Value& status) {
  if (protocol_.status_is_object)
    send(kError, json::serialize(status));
  else if (json::string_at(status, {"status"}) != "Success")
    send(kError, json::string_at(status, {"message"}));
  if (channel_ != nullptr) channel_->close(kNormal, "");
}

void ExecChannels::send(unsigned channel, std::string_view bytes) {
  if (channel_ != nullptr) channel_->send(encode_channel(protocol_, channel, bytes));
}

}  // namespace gangway::agent
