// TestMachine: the machine that tests of the network use for real: root, nft, ip, dnsmasq and the CNI plugins.
//
// Tests ask missing() first and skip where it names something. Sockets are made inside of a namespace and then used
// from anywhere, so that one process plays all pods. Runs on its own ManualLoop; one thread.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/network/layout.h"
#include "sys/command.h"
#include "sys/descriptor.h"
#include "testing/manual_loop.h"

namespace gangway::agent {

inline NetworkLayout a_layout() {
  NetworkLayout layout;
  layout.id = "gw12345678";
  layout.subnet = *parse_network("10.244.4.0/22");
  return layout;
}

// A socket of the namespace; "" is the machine's own.
inline sys::Descriptor socket_in(const std::string& netns, int type) {
  sys::Descriptor made;
  std::thread([&] {
    if (!netns.empty()) {
      sys::Descriptor ns(::open(netns.c_str(), O_RDONLY | O_CLOEXEC));
      if (!ns || ::setns(ns.get(), CLONE_NEWNET) != 0) return;
    }
    made.reset(::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  }).join();
  EXPECT_TRUE(made) << "no socket in " << netns;
  return made;
}

inline sockaddr_in socket_address(const std::string& address, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, address.c_str(), &out.sin_addr), 1) << address;
  return out;
}

inline bool is_ready(int fd, short events, int milliseconds) {
  pollfd asked{.fd = fd, .events = events, .revents = 0};
  return ::poll(&asked, 1, milliseconds) == 1;
}

// Somebody who listens on a port of a namespace and knows by whom he was called.
class Listener {
 public:
  // Port 0: any free one.
  Listener(const std::string& netns, std::uint16_t port, int type = SOCK_STREAM) : fd_(socket_in(netns, type)) {
    int on = 1;
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    auto at = socket_address("0.0.0.0", port);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0) << std::strerror(errno);
    if (type == SOCK_STREAM) ::listen(fd_.get(), 64);
  }
  std::uint16_t port() const {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    return ntohs(at.sin_port);
  }
  // The address of the next caller, who is waiting already; empty: nobody is.
  std::string caller() {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    sys::Descriptor call(::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC));
    return call ? v4_text(ntohl(from.sin_addr.s_addr)) : std::string();
  }
  // Answers the next datagram with its own bytes.
  bool echo(int milliseconds) {
    if (!is_ready(fd_.get(), POLLIN, milliseconds)) return false;
    char bytes[512];
    sockaddr_in from{};
    socklen_t size = sizeof from;
    auto got = ::recvfrom(fd_.get(), bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &size);
    return got > 0 && ::sendto(fd_.get(), bytes, static_cast<std::size_t>(got), 0, reinterpret_cast<sockaddr*>(&from),
                               size) == got;
  }

 private:
  sys::Descriptor fd_;
};

enum class Call : std::uint8_t { kConnected, kRefused, kNoAnswer };

// One TCP connection, held open for as long as the caller keeps `held`.
inline Call call(const std::string& netns, const std::string& address, std::uint16_t port, int milliseconds = 2000,
                 sys::Descriptor* held = nullptr) {
  auto fd = socket_in(netns, SOCK_STREAM);
  auto to = socket_address(address, port);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS)
    return errno == ECONNREFUSED ? Call::kRefused : Call::kNoAnswer;
  if (!is_ready(fd.get(), POLLOUT, milliseconds)) return Call::kNoAnswer;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (held) *held = std::move(fd);
  if (error == 0) return Call::kConnected;
  return error == ECONNREFUSED ? Call::kRefused : Call::kNoAnswer;
}

struct DnsAnswer {
  int code = -1;                            // 0: fine, 3: no such name, -1: nobody answered
  std::vector<std::string> addresses = {};  // sorted
  bool operator==(const DnsAnswer&) const = default;
};

// Asks the name server for A records, once.
inline DnsAnswer ask_name(const std::string& netns, const std::string& server, const std::string& name) {
  auto fd = socket_in(netns, SOCK_DGRAM);
  std::string query("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
  for (std::size_t at = 0; at <= name.size();) {
    auto end = std::min(name.find('.', at), name.size());
    query += static_cast<char>(end - at);
    query += name.substr(at, end - at);
    at = end + 1;
  }
  query += std::string("\x00\x00\x01\x00\x01", 5);
  auto to = socket_address(server, 53);
  ::sendto(fd.get(), query.data(), query.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
  DnsAnswer answer;
  unsigned char reply[4096];
  if (!is_ready(fd.get(), POLLIN, 2000)) return answer;
  auto size = static_cast<std::size_t>(std::max<ssize_t>(::recv(fd.get(), reply, sizeof reply, 0), 0));
  if (size < query.size()) return answer;
  answer.code = reply[3] & 15;
  // Every answer is a pointer to the name, type, class, time to live and length, then the four bytes of an address.
  for (auto at = query.size(); at + 16 <= size && reply[at] >= 0xc0 && reply[at + 3] == 1; at += 16) {
    answer.addresses.push_back(v4_text(static_cast<std::uint32_t>(reply[at + 12]) << 24 | reply[at + 13] << 16 |
                                       reply[at + 14] << 8 | reply[at + 15]));
  }
  std::sort(answer.addresses.begin(), answer.addresses.end());
  return answer;
}

class TestMachine {
 public:
  // What the machine lacks; nothing when real tests can run.
  static std::optional<std::string> missing() {
    if (geteuid() != 0) return "needs root";
    for (const char* path : {"/usr/sbin/nft", "/usr/sbin/dnsmasq", "/usr/lib/cni/bridge", "/usr/lib/cni/host-local"}) {
      if (!std::filesystem::exists(path)) return std::string("needs ") + path;
    }
    return std::nullopt;
  }

  testing::ManualLoop& loop() { return loop_; }
  sys::CommandRunner& runner() { return runner_; }

  sys::CommandResult run(std::vector<std::string> argv, std::string input = {}) {
    std::optional<Result<sys::CommandResult>> answer;
    runner_.run({.argv = std::move(argv), .input = std::move(input)},
                [&](Result<sys::CommandResult> result) { answer = std::move(result); });
    EXPECT_TRUE(loop_.wait_for([&] { return answer.has_value(); }));
    if (answer && *answer) return **answer;
    sys::CommandResult failed;
    failed.code = -1;
    failed.err = answer ? answer->error().message : "no answer";
    return failed;
  }

 private:
  testing::ManualLoop loop_;
  sys::SpawningCommandRunner runner_{loop_};
};

}  // namespace gangway::agent
