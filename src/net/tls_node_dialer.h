// TlsNodeDialer: reaches agents over TLS, with the client certificate that kubelets know the API server by.
//
// Of agents that this process started itself it knows better than their Node objects where they are and who issued
// their certificates: nothing that is written there leads anywhere else.
//
// Usable from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "client/node_dialer.h"
#include "sys/tls.h"

namespace gangway::net {

class TlsNodeDialer final : public client::NodeDialer {
 public:
  // `own`: the addresses at which agents of this process listen, by node.
  TlsNodeDialer(std::string authority_pem, sys::TlsIdentity identity, std::map<std::string, std::string> own = {})
      : authority_pem_(std::move(authority_pem)), own_(std::move(own)), identity_(std::move(identity)) {}
  Result<std::unique_ptr<client::Transport>> dial(const client::NodeAddress& node, sys::EventLoop& here) override;
  // For connections that are made from now on.
  void renew_identity(sys::TlsIdentity identity);

 private:
  const std::string authority_pem_;
  const std::map<std::string, std::string> own_;
  std::mutex mutex_;
  sys::TlsIdentity identity_;  // guarded by mutex_
};

}  // namespace gangway::net
