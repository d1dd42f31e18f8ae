#include "net/tls_node_dialer.h"

#include "net/http_transport.h"

namespace gangway::net {

Result<std::unique_ptr<client::Transport>> TlsNodeDialer::dial(const client::NodeAddress& node, sys::EventLoop& here) {
  const auto own = own_.find(node.node);
  const bool is_own = own != own_.end();
  const std::string& host = is_own ? own->second : node.host;
  const bool v6 = host.find(':') != std::string::npos;
  HttpTransportOptions options;
  options.server = "https://" + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(node.port);
  options.tls.ca_pem = is_own || node.authority_pem.empty() ? authority_pem_ : node.authority_pem;
  {
    const std::scoped_lock lock(mutex_);
    options.tls.identity = identity_;
  }
  options.tls.server_name = node.node;
  options.connect_timeout = std::chrono::seconds(5);
  GW_TRY(auto transport, HttpTransport::create(std::move(options), here));
  return std::unique_ptr<client::Transport>(std::move(transport));
}

void TlsNodeDialer::renew_identity(sys::TlsIdentity identity) {
  const std::scoped_lock lock(mutex_);
  identity_ = std::move(identity);
}

}  // namespace gangway::net
