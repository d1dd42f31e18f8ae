// The keys and certificates of one cluster, kept in a directory: made when missing, renewed when they run out.
//
//   ca.crt ca.key    the cluster's own authority      apiserver.crt .key   the server's
//   sa.key           signs service-account tokens     admin.crt .key       the administrator's, in the kubeconfig
//   agent.crt .key   what this machine's agent serves with, and node-NAME.crt .key: what it logs in with for a node
//   apiserver-kubelet-client.crt .key                 what the server shows to agents
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
  sys::TlsIdentity kubelet_client;
  std::string token_key_pem;
};

struct PkiSpec {
  std::vector<std::string> dns_names;     // of the server
  std::vector<std::string> ip_addresses;  // of the server
};

// Everything is renewed that does not verify, covers too few names or has less than a third of its life left; the
// authority and the token key stay as long as they can, since clients hold on to them.
Result<ClusterPki> load_or_create_pki(const std::string& directory, const PkiSpec& spec, WallTime now);
// The same for a cluster that runs: what is issued anew is issued by the authority that is there, whatever its age.
Result<ClusterPki> renew_pki(const std::string& directory, const PkiSpec& spec, WallTime now);

// Whether it would find anything to renew.
bool is_due(const ClusterPki& pki, WallTime now);

// When the certificates end.
struct PkiEnds {
  WallTime authority{};
  WallTime server{};
  WallTime admin{};
};
Result<PkiEnds> ends_of(const ClusterPki& pki);

// What the agent of a node logs in with: its name and group say which node it is. Requires: the directory is the
// server's.
Result<sys::TlsIdentity> load_or_issue_node_identity(const std::string& directory, const std::string& node,
                                                     WallTime now);

struct AgentIdentity {
  sys::TlsIdentity serving;
  std::string authority_pem;  // who issued it
};

// What an agent serves with, for the names of its nodes. Where the directory is the server's, the cluster's authority
// issues it, and every API server that knows the cluster accepts it. On another machine the agent is its own authority,
// and its nodes say so in an annotation.
Result<AgentIdentity> load_or_create_agent_identity(const std::string& directory, const PkiSpec& spec, WallTime now);

}  // namespace gangway::crypto
