// The keys and certificates of one cluster, kept in a directory: made when missing, renewed when they run out.
//
//   ca.crt ca.key    the cluster's own authority      apiserver.crt .key   the server's
//   sa.key           signs service-account tokens     admin.crt .key       the administrator's, in the kubeconfig
//
// Keys have mode 0600. Blocking; for start-up.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sys/tls.h"

namespace gangway::crypto {

struct ClusterPki {
  std::string authority_pem;  // the certificate only
  sys::TlsIdentity server;
  sys::TlsIdentity admin;
  std::string token_key_pem;
};

struct PkiSpec {
  std::vector<std::string> dns_names;     // of the server
  std::vector<std::string> ip_addresses;  // of the server
};

// Everything is renewed that does not verify, covers too few names or has less than a third of its life left; the
// authority and the token key stay as long as they can, since clients hold on to them.
Result<ClusterPki> load_or_create_pki(const std::string& directory, const PkiSpec& spec, WallTime now);

}  // namespace gangway::crypto
