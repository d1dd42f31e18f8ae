#include "agent/endpoints/forwarding.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace gangway::agent {
namespace {

// What may wait on its way to one port, or to the client, before its source is stopped. One port that does not read
// stops the others of its client too, so it is given some room first.
constexpr std::size_t kPortHighWater = 1024 * 1024;
constexpr std::size_t kClientHighWater = 256 * 1024;

}  // namespace

Forwarding::Forwarding(Runtime& runtime, sys::EventLoop& loop, PodIdentity pod)
    : runtime_(runtime), loop_(loop), pod_(std::move(pod)) {}

void Forwarding::drop() {
  client_ = nullptr;
  connections_.clear();
}

void Forwarding::connect(std::uint32_t connection, std::uint16_t port) {
  connections_[connection].port = port;
  runtime_.connect(pod_.uid, port, [weak = weak_from_this(), connection](Result<int> socket) {
    if (const auto self = weak.lock()) return self->connected(connection, std::move(socket));
    if (socket) ::close(*socket);
  });
}

void Forwarding::connected(std::uint32_t id, Result<int> result) {
  sys::FileDescriptor socket(result ? *result : -1);
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (!result) return fail(id, result.error().message);
  ForwardedPort::Callbacks callbacks;
  callbacks.on_bytes = [this, id](std::string_view bytes) { on_bytes(id, bytes); };
  callbacks.on_end = [this, id](const std::string& error) { on_end(id, error); };
  callbacks.on_drained = [this, id] {
    balance();
    forget_if_over(id);
  };
  auto& connection = found->second;
  connection.socket = std::make_shared<ForwardedPort>(loop_, std::move(socket), std::move(callbacks));
  connection.socket->pause(output_paused_);
  connection.socket->start();
  connection.socket->write(std::exchange(connection.early, {}));
  if (connection.early_end) connection.socket->end_write();
}

void Forwarding::on_bytes(std::uint32_t id, std::string_view bytes) {
  if (client_ == nullptr) return;
  client_->write(id, bytes);
  if (client_->unsent() <= kClientHighWater || std::exchange(output_paused_, true)) return;
  for (auto& [other, connection] : connections_)
    if (connection.socket) connection.socket->pause(true);
}

void Forwarding::on_drained() {
  if (!std::exchange(output_paused_, false)) return;
  for (auto& [id, connection] : connections_)
    if (connection.socket) connection.socket->pause(false);
}

void Forwarding::on_end(std::uint32_t id, const std::string& error) {
  const auto self = shared_from_this();
  if (!error.empty()) return fail(id, error);
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  found->second.pod_ended = true;
  if (client_ != nullptr) client_->end(id);
  forget_if_over(id);
}

void Forwarding::fail(std::uint32_t id, std::string_view reason) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const auto port = found->second.port;
  const auto gone = std::move(found->second);
  connections_.erase(found);
  balance();
  if (client_ == nullptr) return;
  client_->fail(id, fmt::format("error forwarding port {} to pod {}, uid {}: {}", port, pod_.name, pod_.uid, reason));
}

void Forwarding::input(std::uint32_t id, std::string_view bytes) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  auto& connection = found->second;
  if (connection.socket)
    connection.socket->write(bytes);
  else
    connection.early += bytes;
  balance();
}

void Forwarding::end_input(std::uint32_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  found->second.client_ended = true;
  if (found->second.socket)
    found->second.socket->end_write();
  else
    found->second.early_end = true;
  forget_if_over(id);
}

void Forwarding::close(std::uint32_t connection) {
  connections_.erase(connection);
  balance();
}

// Stops the client while a port has too much to take, and lets it go on when none has.
void Forwarding::balance() {
  const bool full = std::any_of(connections_.begin(), connections_.end(), [](const auto& entry) {
    const auto& connection = entry.second;
    return connection.early.size() + (connection.socket ? connection.socket->unsent() : 0) > kPortHighWater;
  });
  if (std::exchange(input_paused_, full) != full && client_ != nullptr) client_->pause_input(full);
}

// A connection whose both ends are done lives on until its last bytes are with the kernel.
void Forwarding::forget_if_over(std::uint32_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || !found->second.pod_ended || !found->second.client_ended) return;
  if (found->second.socket && found->second.socket->unsent() > 0) return;
  connections_.erase(found);
  balance();
}

}  // namespace gangway::agent
