// Every active namespace has the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt`.
//
//   Active namespace, one of them missing or the certificate changed ──► create or patch it
//
// Keyed by namespace. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class ServiceAccountController final : public client::Reconciler {
 public:
  // `ca_certificate`: PEM, what clients in pods verify the API server with.
  explicit ServiceAccountController(std::string ca_certificate) : ca_certificate_(std::move(ca_certificate)) {}

  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

 private:
  std::string ca_certificate_;
};

}  // namespace gangway::controllers
