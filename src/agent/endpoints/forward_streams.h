// ForwardStreams: port-forward over SPDY (portforward.k8s.io). Each connection to a port is a pair of streams with one
// request id: one for its data, one for what went wrong.
//
// Belongs to the loop of its connection, which is the agent's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "agent/endpoints/forwarding.h"
#include "agent/streams/spdy_session.h"

namespace gangway::agent {

class ForwardStreams final : public SpdyHandler, public ForwardClient {
 public:
  explicit ForwardStreams(std::shared_ptr<Forwarding> forwarding) : forwarding_(std::move(forwarding)) {}

  void on_open(SpdySession& session) override;
  bool on_stream(std::uint32_t stream, const SpdyHeaders& headers) override;
  void on_data(std::uint32_t stream, std::string_view bytes) override;
  void on_end(std::uint32_t stream) override;
  void on_reset(std::uint32_t stream) override;
  void on_drained() override { forwarding_->on_drained(); }
  void on_close() override;

  void write(std::uint32_t connection, std::string_view bytes) override;
  std::size_t unsent() const override;
  void pause_input(bool paused) override;
  void end(std::uint32_t connection) override;
  void fail(std::uint32_t connection, std::string_view message) override;

 private:
  struct Pair {
    std::uint32_t error = 0;
    std::uint32_t data = 0;
    std::uint16_t port = 0;
    std::string early;  // data that came before the stream for errors
    bool early_end = false;
  };
  Pair* waiting_for_error(std::uint32_t data_stream);
  void finish_error(std::uint32_t data_stream);

  std::shared_ptr<Forwarding> forwarding_;
  SpdySession* session_ = nullptr;
  std::map<std::string, Pair> waiting_;                 // for the other of the two, by request id
  std::map<std::uint32_t, std::uint32_t> connections_;  // data stream to error stream
};

}  // namespace gangway::agent
