#include "agent/endpoints/forward_streams.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace gangway::agent {
namespace {

constexpr std::size_t kMaxEarly = 64 * 1024;

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

}  // namespace

void ForwardStreams::on_open(SpdySession& session) {
  session_ = &session;
  forwarding_->open(*this);
}

bool ForwardStreams::on_stream(std::uint32_t stream, const SpdyHeaders& headers) {
  const auto port = port_of(spdy_header(headers, "port"));
  const auto type = spdy_header(headers, "streamtype");
  if (!port || (type != "error" && type != "data")) return false;
  std::string request(spdy_header(headers, "requestid"));
  // Old clients name none, and open the two one right after the other.
  if (request.empty()) request = "stream " + std::to_string(type == "error" ? stream : stream - 2);
  auto& pair = waiting_[request];
  auto& place = type == "error" ? pair.error : pair.data;
  if (place != 0) return false;
  place = stream;
  if (type == "data") pair.port = *port;
  if (pair.error == 0 || pair.data == 0) return true;
  const Pair complete = std::move(pair);
  waiting_.erase(request);
  connections_[complete.data] = complete.error;
  forwarding_->connect(complete.data, complete.port);
  forwarding_->input(complete.data, complete.early);
  if (complete.early_end) forwarding_->end_input(complete.data);
  return true;
}

ForwardStreams::Pair* ForwardStreams::waiting_for_error(std::uint32_t data_stream) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const auto& entry) { return entry.second.data == data_stream; });
  return found != waiting_.end() ? &found->second : nullptr;
}

void ForwardStreams::on_data(std::uint32_t stream, std::string_view bytes) {
  auto* pair = waiting_for_error(stream);
  if (pair == nullptr) return forwarding_->input(stream, bytes);
  pair->early += bytes;
  if (pair->early.size() > kMaxEarly) session_->reset(stream, kSpdyRefusedStream);
}

void ForwardStreams::on_end(std::uint32_t stream) {
  auto* pair = waiting_for_error(stream);
  if (pair == nullptr) return forwarding_->end_input(stream);
  pair->early_end = true;
}

void ForwardStreams::on_reset(std::uint32_t stream) {
  forwarding_->close(stream);
  finish_error(stream);
}

void ForwardStreams::on_close() {
  session_ = nullptr;
  forwarding_->drop();
}

void ForwardStreams::write(std::uint32_t connection, std::string_view bytes) {
  if (session_ != nullptr) session_->send(connection, bytes);
}

std::size_t ForwardStreams::unsent() const {
  return session_ != nullptr ? session_->unsent() : 0;
}

void ForwardStreams::pause_input(bool paused) {
  if (session_ != nullptr) session_->pause(paused);
}

void ForwardStreams::end(std::uint32_t connection) {
  if (session_ == nullptr) return;
  session_->finish(connection);
  // A client takes the end of the other stream for "nothing went wrong".
  finish_error(connection);
}

void ForwardStreams::fail(std::uint32_t connection, std::string_view message) {
  const auto found = connections_.find(connection);
  if (session_ == nullptr || found == connections_.end()) return;
  session_->send(found->second, message);
  end(connection);
}

void ForwardStreams::finish_error(std::uint32_t data_stream) {
  const auto found = connections_.find(data_stream);
  if (session_ == nullptr || found == connections_.end()) return;
  session_->finish(found->second);
  connections_.erase(found);
}

}  // namespace gangway::agent
