// Kubeconfig files: where a cluster is and who we are to it. Read and written whole, as YAML; kubectl's format.
//
// Holds what Gangway uses: servers, certificates, tokens, namespaces. A file with other ways to log in (exec plugins,
// user names with passwords) is read, and its users come without credentials. Blocking; for start-up and tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gangway::client {

struct KubeCluster {
  std::string name;
  std::string server;           // "https://127.0.0.1:6443"
  std::string ca_data;          // PEM; in the file in base64, or beside it under certificate-authority
  std::string tls_server_name;  // what the certificate is checked against, when not the server's host
  bool insecure_skip_tls_verify = false;
};

struct KubeUser {
  std::string name;
  std::string certificate_data;  // PEM
  std::string key_data;          // PEM
  std::string token;
};

struct KubeContext {
  std::string name;
  std::string cluster;
  std::string user;
  std::string ns;  // "namespace"
};

struct Kubeconfig {
  std::vector<KubeCluster> clusters;
  std::vector<KubeUser> users;
  std::vector<KubeContext> contexts;
  std::string current_context;
};

// What is needed to talk to one cluster.
struct Login {
  KubeCluster cluster;
  KubeUser user;
  std::string ns = "default";
};

Result<Kubeconfig> parse_kubeconfig(std::string_view yaml, const std::string& directory = "");
std::string write_kubeconfig(const Kubeconfig& config);

// Files that the config names (certificate-authority, client-key, …) are read relative to the config's folder.
Result<Kubeconfig> read_kubeconfig_file(const std::string& path);
// With mode 0600: it holds a private key.
Result<void> write_kubeconfig_file(const std::string& path, const Kubeconfig& config);

// The named context, or the current one for "". An error names the contexts that exist.
Result<Login> login_for(const Kubeconfig& config, std::string_view context = "");

}  // namespace gangway::client
