#include "controllers/service_account_controller.h"

#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::Create;
using client::Outcome;
using client::Patch;
using client::View;
using client::resources::kConfigMaps;
using client::resources::kNamespaces;
using client::resources::kServiceAccounts;

constexpr const char* kAccount = "default";
constexpr const char* kCertificate = "kube-root-ca.crt";
constexpr const char* kDescription = "What pods verify the API server of this cluster with.";

// Only the objects of that name matter; all others would make every pod's ConfigMap a look at its namespace.
client::KeyMapper namespace_of(const char* name) {
  return [name, map = client::its_namespace(kNamespaces)](const client::ObjectChange& change, const View& view,
                                                          const client::KeySink& sink) {
    if (change.now.header->name.name == name) map(change, view, sink);
  };
}

json::Object metadata(const std::string& ns, const char* name) {
  return {{"namespace", ns}, {"name", name}};
}

}  // namespace

std::vector<client::WatchRule> ServiceAccountController::watches() const {
  return {{.resource = kNamespaces, .keys = client::itself(kNamespaces)},
          {.resource = kServiceAccounts, .keys = namespace_of(kAccount)},
          {.resource = kConfigMaps, .keys = namespace_of(kCertificate)}};
}

Outcome ServiceAccountController::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version owner = view.get(kNamespaces, key.object);
  if (!owner || owner.header->deleting_since) return outcome;
  const std::string& ns = key.object.name;
  if (!view.get(kServiceAccounts, {ns, kAccount})) {
    json::Object account{{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", metadata(ns, kAccount)}};
    outcome.allowed_now.push_back(Create{kServiceAccounts, ns, std::move(account)});
  }

  const json::Object data{{"ca.crt", ca_certificate_}};
  const api::Version map = view.get(kConfigMaps, {ns, kCertificate});
  if (!map) {
    auto described = metadata(ns, kCertificate);
    described["annotations"] = json::Object{{"kubernetes.io/description", kDescription}};
    json::Object certificate{
        {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", std::move(described)}, {"data", data}};
    outcome.allowed_now.push_back(Create{kConfigMaps, ns, std::move(certificate)});
  } else if (const auto tree = json::parse(*map.json);
             tree && json::string_at(*tree, {"data", "ca.crt"}) != ca_certificate_) {
    outcome.allowed_now.push_back(Patch{client::target_of(kConfigMaps, map), json::Object{{"data", data}}});
  }
  return outcome;
}

}  // namespace gangway::controllers
