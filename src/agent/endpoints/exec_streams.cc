#include "agent/endpoints/exec_streams.h"

#include <utility>

namespace gangway::agent {
namespace {

constexpr auto kStreamsTimeout = std::chrono::seconds(30);
constexpr std::size_t kMaxEarlyInput = 256 * 1024;
constexpr std::size_t kMaxSize = 1024;

std::size_t expected_streams(const ExecSpec& spec) {
  // One says how it ended.
  return 1U + (spec.stdin_open ? 1 : 0) + (spec.out ? 1 : 0) + (spec.err ? 1 : 0) + (spec.terminal ? 1 : 0);
}

}  // namespace

ExecStreams::ExecStreams(Runtime& runtime, ExecSpec spec, sys::EventLoop& loop)
    : loop_(loop),
      expected_(expected_streams(spec)),
      command_(std::make_shared<RemoteCommand>(runtime, std::move(spec))) {}

ExecStreams::~ExecStreams() {
  loop_.cancel(timer_);
}

void ExecStreams::on_open(SpdySession& session) {
  session_ = &session;
  timer_ = loop_.run_after(kStreamsTimeout, [this] {
    timer_ = sys::TimerId::kNone;
    if (!started_ && session_ != nullptr) session_->close();
  });
}

bool ExecStreams::on_stream(std::uint32_t stream, const SpdyHeaders& headers) {
  const auto type = spdy_header(headers, "streamtype");
  if (type != "error" && type != "stdin" && type != "stdout" && type != "stderr" && type != "resize") return false;
  if (!streams_.emplace(type, stream).second) return false;
  if (!started_ && streams_.size() == expected_) start();
  return true;
}

void ExecStreams::start() {
  started_ = true;
  loop_.cancel(std::exchange(timer_, sys::TimerId::kNone));
  command_->start(*this);
  command_->input(std::exchange(early_input_, {}));
  if (input_ended_) command_->end_input();
}

std::uint32_t ExecStreams::stream(std::string_view type) const {
  const auto found = streams_.find(type);
  return found != streams_.end() ? found->second : 0;
}

void ExecStreams::on_data(std::uint32_t id, std::string_view bytes) {
  if (id == stream("stdin")) {
    if (started_) return command_->input(bytes);
    early_input_ += bytes;
    if (early_input_.size() > kMaxEarlyInput) session_->close();
    return;
  }
  if (id != stream("resize")) return;
  // One JSON object after the other, in pieces of any size.
  for (const char c : bytes) {
    if (size_.size() < kMaxSize) size_ += c;
    if (c == '}') command_->resize(std::exchange(size_, {}));
  }
}

void ExecStreams::on_end(std::uint32_t id) {
  if (id != stream("stdin") || std::exchange(input_ended_, true)) return;
  if (started_) command_->end_input();
}

void ExecStreams::on_close() {
  session_ = nullptr;
  command_->drop();
}

void ExecStreams::write(int stream_number, std::string_view bytes) {
  if (session_ != nullptr) session_->send(stream(stream_number == 1 ? "stdout" : "stderr"), bytes);
}

std::size_t ExecStreams::unsent() const {
  return session_ != nullptr ? session_->unsent() : 0;
}

void ExecStreams::pause_input(bool paused) {
  if (session_ != nullptr) session_->pause(paused);
}

void ExecStreams::end(const json::Value& status) {
  if (session_ == nullptr) return;
  session_->send(stream("error"), json::serialize(status));
  for (const auto& [type, id] : streams_) session_->finish(id);
  session_->close();
}

}  // namespace gangway::agent
