// TLS as values: who we are and whom we trust, in PEM. src/crypto makes them, src/net uses them.
#pragma once

#include <string>

namespace gangway::sys {

// A certificate (or a chain, our own first) and its private key.
struct TlsIdentity {
  std::string certificate_pem;
  std::string key_pem;
};

struct TlsServerConfig {
  TlsIdentity identity;
  // When set, clients are asked for a certificate. They need not have one; what they offer is verified against this.
  std::string client_ca_pem;
};

struct TlsClientConfig {
  std::string ca_pem = {};       // empty: the system's authorities
  TlsIdentity identity = {};     // empty: no client certificate
  std::string server_name = {};  // what the certificate must be for; empty: the host of the URL
  bool skip_verify = false;      // a kubeconfig may ask for insecure-skip-tls-verify
};

}  // namespace gangway::sys
