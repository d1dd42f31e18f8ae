#include "sim/server_port.h"

#include <utility>

namespace gangway::sim {

apiserver::DirectClient& ServerPort::as(const apiserver::UserInfo& user) {
  auto& client = clients_[user.name];
  if (client == nullptr) client = std::make_unique<apiserver::DirectClient>(server_, store_, loop_, user);
  return *client;
}

std::uint64_t ServerPort::begin(std::shared_ptr<Exchange> exchange) {
  open_.emplace(++last_, std::move(exchange));
  return last_;
}

void ServerPort::break_all() {
  for (const auto& [number, exchange] : std::exchange(open_, {})) exchange->break_off();
}

}  // namespace gangway::sim
