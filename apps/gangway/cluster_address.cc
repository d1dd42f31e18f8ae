#include "cluster_address.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/data_dir.h"
#include "client/kubeconfig.h"
#include "sys/clock.h"
#include "sys/files.h"

namespace gangway {
namespace {

constexpr const char* kAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// kubectl takes a list of files in KUBECONFIG, and merges them; the first that exists is ours.
Result<std::string> first_that_exists(const std::string& listed) {
  std::string_view rest = listed;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string path(rest.substr(0, colon));
    if (!path.empty() && std::filesystem::exists(path)) return path;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return bad_request(fmt::format("KUBECONFIG names no file that exists: {}", listed));
}

// A token in a file, which the kubelet replaces before it expires. Read again now and then, not for every request.
class TokenFile {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  std::string read() {
    const MonoTime now = sys::system_clock().mono();
    if (!read_at_ || now - *read_at_ >= std::chrono::seconds(10)) {
      // While it is being replaced the last one is still good.
      if (auto text = sys::read_file(path_)) token_ = text->substr(0, text->find('\n'));
      read_at_ = now;
    }
    return token_;
  }

 private:
  std::string path_;
  std::string token_;
  std::optional<MonoTime> read_at_;
};

bool is_in_a_pod() {
  return !variable("KUBERNETES_SERVICE_HOST").empty() &&
         std::filesystem::exists(std::string(kAccountFolder) + "/token");
}

Result<ClusterAddress> of_this_pod() {
  const std::string folder = kAccountFolder;
  std::string host = variable("KUBERNETES_SERVICE_HOST");
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  const std::string port = variable("KUBERNETES_SERVICE_PORT");
  ClusterAddress address;
  address.source = "the service account of this pod";
  address.transport.server = fmt::format("https://{}:{}", host, port.empty() ? "443" : port);
  GW_TRY(address.transport.tls.ca_pem, sys::read_file(folder + "/ca.crt"));
  if (auto ns = sys::read_file(folder + "/namespace")) address.ns = ns->substr(0, ns->find('\n'));
  address.transport.bearer_token = [file = std::make_shared<TokenFile>(folder + "/token")] { return file->read(); };
  return address;
}

Result<ClusterAddress> of_kubeconfig(const std::string& path, const std::string& context) {
  GW_TRY(const auto config, client::read_kubeconfig_file(path));
  auto login = client::login_for(config, context);
  if (!login) return std::move(login.error()).within(path);
  ClusterAddress address;
  address.source = path;
  address.ns = login->ns;
  address.transport.server = login->cluster.server;
  address.transport.tls.ca_pem = login->cluster.ca_data;
  address.transport.tls.identity = {login->user.certificate_data, login->user.key_data};
  address.transport.tls.server_name = login->cluster.tls_server_name;
  address.transport.tls.skip_verify = login->cluster.insecure_skip_tls_verify;
  if (!login->user.token.empty()) address.transport.bearer_token = [token = login->user.token] { return token; };
  return address;
}

}  // namespace

Result<ClusterAddress> find_cluster(const std::string& kubeconfig, const std::string& context) {
  if (!kubeconfig.empty()) return of_kubeconfig(kubeconfig, context);
  if (const std::string listed = variable("KUBECONFIG"); !listed.empty()) {
    GW_TRY(const std::string path, first_that_exists(listed));
    return of_kubeconfig(path, context);
  }
  if (const std::string usual = variable("HOME") + "/.kube/config"; std::filesystem::exists(usual))
    return of_kubeconfig(usual, context);
  if (is_in_a_pod()) return of_this_pod();
  if (const std::string own = cli::DataDir(cli::DataDir::default_path()).kubeconfig(); std::filesystem::exists(own))
    return of_kubeconfig(own, context);
  return bad_request("no cluster is known: give --kubeconfig FILE, set KUBECONFIG, or start one with `gangway up`");
}

}  // namespace gangway
