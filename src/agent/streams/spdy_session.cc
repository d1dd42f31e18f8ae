#include "agent/streams/spdy_session.h"

#include <utility>

namespace gangway::agent {
namespace {

// kubectl port-forward opens two for each connection to the port.
constexpr std::size_t kMaxStreams = 4096;
constexpr std::uint32_t kGoAwayOk = 0;
constexpr std::uint32_t kGoAwayProtocolError = 1;

}  // namespace

void SpdySession::on_open(sys::ByteChannel& channel) {
  channel_ = &channel;
  handler_->on_open(*this);
}

void SpdySession::on_bytes(std::string_view bytes) {
  if (closing_) return;
  std::vector<SpdyFrame> frames;
  const auto read = reader_.feed(bytes, frames);
  for (auto& frame : frames) {
    if (closing_) return;
    take(frame);
  }
  if (!read) go_away(kGoAwayProtocolError);
}

void SpdySession::take(SpdyFrame& frame) {
  switch (frame.type) {
    case SpdyType::kSynStream:
      return take_stream(frame);
    case SpdyType::kData: {
      const auto found = streams_.find(frame.stream);
      if (found == streams_.end() || found->second.they_ended) return;
      if (!frame.data.empty()) handler_->on_data(frame.stream, frame.data);
      if (frame.fin) end_theirs(frame.stream);
      return;
    }
    case SpdyType::kHeaders:
      if (frame.fin) end_theirs(frame.stream);
      return;
    case SpdyType::kRstStream:
      if (streams_.erase(frame.stream) > 0) handler_->on_reset(frame.stream);
      return;
    case SpdyType::kPing: {
      // Ours would be even, and we send none.
      std::string pong;
      SpdyWriter::ping(pong, frame.value);
      return channel_->send(pong);
    }
    case SpdyType::kGoAway:
    case SpdyType::kSynReply:
    case SpdyType::kSettings:
    case SpdyType::kWindowUpdate:
      return;
  }
}

void SpdySession::take_stream(const SpdyFrame& frame) {
  const std::uint32_t id = frame.stream;
  // A client's streams are odd and count up.
  if (id % 2 == 0 || id <= last_stream_) return go_away(kGoAwayProtocolError);
  last_stream_ = id;
  std::string out;
  if (streams_.size() >= kMaxStreams) {
    SpdyWriter::rst_stream(out, id, kSpdyRefusedStream);
    return channel_->send(out);
  }
  streams_[id] = {};
  // The reply goes first: what comes before it would be dropped.
  writer_.syn_reply(out, id, {});
  channel_->send(out);
  if (!handler_->on_stream(id, frame.headers)) return reset(id, kSpdyProtocolError);
  if (frame.fin) end_theirs(id);
}

void SpdySession::end_theirs(std::uint32_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || std::exchange(found->second.they_ended, true)) return;
  handler_->on_end(stream);
  forget_if_over(stream);
}

void SpdySession::forget_if_over(std::uint32_t stream) {
  const auto found = streams_.find(stream);
  if (found != streams_.end() && found->second.we_ended && found->second.they_ended) streams_.erase(found);
}

void SpdySession::send(std::uint32_t stream, std::string_view bytes) {
  const auto found = streams_.find(stream);
  if (closing_ || bytes.empty() || found == streams_.end() || found->second.we_ended) return;
  std::string out;
  SpdyWriter::data(out, stream, bytes);
  channel_->send(out);
}

void SpdySession::finish(std::uint32_t stream) {
  const auto found = streams_.find(stream);
  if (closing_ || found == streams_.end() || std::exchange(found->second.we_ended, true)) return;
  std::string out;
  SpdyWriter::data(out, stream, {}, true);
  channel_->send(out);
  forget_if_over(stream);
}

void SpdySession::reset(std::uint32_t stream, std::uint32_t reason) {
  if (closing_ || streams_.erase(stream) == 0) return;
  std::string out;
  SpdyWriter::rst_stream(out, stream, reason);
  channel_->send(out);
}

std::size_t SpdySession::unsent() const {
  return channel_ != nullptr ? channel_->unsent() : 0;
}

void SpdySession::pause(bool paused) {
  if (channel_ != nullptr) channel_->pause(paused);
}

void SpdySession::close() {
  go_away(kGoAwayOk);
}

void SpdySession::go_away(std::uint32_t reason) {
  if (channel_ == nullptr || std::exchange(closing_, true)) return;
  std::string out;
  SpdyWriter::go_away(out, last_stream_, reason);
  channel_->send(out);
  channel_->close();
}

void SpdySession::on_drained() {
  if (!closing_) handler_->on_drained();
}

void SpdySession::on_close() {
  closing_ = true;
  handler_->on_close();
  channel_ = nullptr;
}

}  // namespace gangway::agent
