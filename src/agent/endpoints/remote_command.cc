#include "agent/endpoints/remote_command.h"

#include <fmt/format.h>

#include <utility>

namespace gangway::agent {
namespace {

// What may wait on its way to a client or a process before its source is stopped.
constexpr std::size_t kHighWater = 256 * 1024;

std::optional<std::uint16_t> dimension(const json::Value& size, std::string_view name) {
  const auto* value = json::find(size, {name});
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0 || value->get_int64() > 0xffff) return {};
  return static_cast<std::uint16_t>(value->get_int64());
}

}  // namespace

json::Value exit_status(int code) {
  if (code == 0) return json::Object{{"metadata", json::Object()}, {"status", "Success"}};
  const json::Value cause = json::Object{{"reason", "ExitCode"}, {"message", std::to_string(code)}};
  return json::Object{{"metadata", json::Object()},
                      {"status", "Failure"},
                      {"message", fmt::format("command terminated with non-zero exit code: exit status {}", code)},
                      {"reason", "NonZeroExitCode"},
                      {"details", json::Object{{"causes", json::Array{cause}}}}};
}

json::Value failure_status(std::string_view message) {
  const json::Value cause = json::Object{{"message", message}};
  return json::Object{{"metadata", json::Object()},
                      {"status", "Failure"},
                      {"message", fmt::format("Internal error occurred: {}", message)},
                      {"reason", "InternalError"},
                      {"details", json::Object{{"causes", json::Array{cause}}}},
                      {"code", 500}};
}

RemoteCommand::RemoteCommand(Runtime& runtime, ExecSpec spec) : runtime_(runtime), spec_(std::move(spec)) {}

void RemoteCommand::start(CommandClient& client) {
  client_ = &client;
  ExecCallbacks callbacks;
  callbacks.on_output = [weak = weak_from_this()](int stream, const std::string& bytes) {
    const auto self = weak.lock();
    if (!self || self->client_ == nullptr) return;
    self->client_->write(stream, bytes);
    if (self->client_->unsent() > kHighWater && self->session_ && !std::exchange(self->output_paused_, true))
      self->session_->pause(true);
  };
  callbacks.on_drained = [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->client_ != nullptr && std::exchange(self->input_paused_, false))
      self->client_->pause_input(false);
  };
  callbacks.on_exit = [weak = weak_from_this()](int code) {
    if (const auto self = weak.lock()) self->finish(exit_status(code));
  };
  const char* what = spec_.command.empty() ? "error attaching to container" : "error executing command in container";
  callbacks.on_failure = [weak = weak_from_this(), what](const std::string& reason) {
    if (const auto self = weak.lock()) self->finish(failure_status(fmt::format("{}: {}", what, reason)));
  };
  session_ = runtime_.exec(spec_, std::move(callbacks));
}

void RemoteCommand::drop() {
  client_ = nullptr;
  session_.reset();
}

void RemoteCommand::input(std::string_view bytes) {
  if (!session_ || !spec_.stdin_open || bytes.empty()) return;
  session_->write(std::string(bytes));
  if (client_ != nullptr && session_->unsent() > kHighWater && !std::exchange(input_paused_, true))
    client_->pause_input(true);
}

void RemoteCommand::end_input() {
  if (session_ && spec_.stdin_open) session_->close_stdin();
}

void RemoteCommand::resize(std::string_view text) {
  const auto size = json::parse(text);
  if (!size || !session_ || !spec_.terminal) return;
  const auto width = dimension(*size, "Width");
  const auto height = dimension(*size, "Height");
  if (width && height) session_->resize(*width, *height);
}

void RemoteCommand::on_drained() {
  if (session_ && std::exchange(output_paused_, false)) session_->pause(false);
}

void RemoteCommand::finish(const json::Value& status) {
  const auto self = shared_from_this();
  session_.reset();
  if (auto* client = std::exchange(client_, nullptr)) client->end(status);
}

}  // namespace gangway::agent
