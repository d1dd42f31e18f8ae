// TlsNodeDialer: reaches agents over TLS, with the client certificate that kubelets know the API server by.
//
// Usable from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "client/node_dialer.h"
#include "sys/tls.h"

namespace gangway::net {

class TlsNodeDialer final : public client::NodeDialer {
 public:
  TlsNodeDialer(std::string authority_pem, sys::TlsIdentity identity)
      : authority_pem_(std::move(authority_pem)), identity_(std::move(identity)) {}
  Result<std::unique_ptr<client::Transport>> dial(const client::NodeAddress& node, sys::EventLoop& here) override;
  // For connections that are made from now on.
  void renew_identity(sys::TlsIdentity identity);

 private:
  const std::string authority_pem_;
  std::mutex mutex_;
  sys::TlsIdentity identity_;  // guarded by mutex_
};

}  // namespace gangway::net
