// ServerPort: where the calls of SimClients reach a server. It goes with its server; Gate is its address, which stays.
//
// Each caller's requests take the full path through a DirectClient in the caller's name. Whoever waits for an answer
// when the server is killed learns that the connection broke.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "apiserver/direct_client.h"
#include "testing/sim_process.h"

namespace gangway::sim {

// Something that waits for the server: a call, a list, a watch.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // The server is gone.
  virtual void break_off() = 0;
};

class ServerPort {
 public:
  // Answers come on `loop`, one of the server's.
  ServerPort(apiserver::ApiServer& server, store::Store& store, testing::SimLoop& loop, testing::SimProcess& process)
      : server_(server), store_(store), loop_(loop), process_(process) {}
  ServerPort(const ServerPort&) = delete;
  ServerPort& operator=(const ServerPort&) = delete;

  apiserver::DirectClient& as(const apiserver::UserInfo& user);
  testing::SimProcess& process() { return process_; }

  // Returns the number to end it by.
  std::uint64_t begin(std::shared_ptr<Exchange> exchange);
  void end(std::uint64_t exchange) { open_.erase(exchange); }
  // The server's process was killed.
  void break_all();

 private:
  apiserver::ApiServer& server_;
  store::Store& store_;
  testing::SimLoop& loop_;
  testing::SimProcess& process_;
  std::map<std::string, std::unique_ptr<apiserver::DirectClient>> clients_;
  std::map<std::uint64_t, std::shared_ptr<Exchange>> open_;  // in the order of their beginning
  std::uint64_t last_ = 0;
};

class Gate {
 public:
  // Null: nobody listens.
  ServerPort* port() const { return port_; }
  // Counts the servers that have listened here: a connection to one of them is none to the next.
  std::uint64_t life() const { return life_; }
  void open(ServerPort& port) {
    port_ = &port;
    ++life_;
  }
  void close() {
    if (port_ != nullptr) std::exchange(port_, nullptr)->break_all();
  }

 private:
  ServerPort* port_ = nullptr;
  std::uint64_t life_ = 0;
};

}  // namespace gangway::sim
