// Who answers behind the service default/kubernetes: the address at which pods reach the API server.
//
//   the Service was deleted ──► made again, as the cluster began with it
//   EndpointSlice and Endpoints are missing or say something else ──► made, or put right
//
// Both have one address, or none where the server listens nowhere that a pod could reach. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/reconciler.h"
#include "json/value.h"

namespace gangway::controllers {

struct ApiAddress {
  std::string address;
  std::uint16_t port = 0;
};

class ApiEndpoints final : public client::Reconciler {
 public:
  // `service`: the object to make again; null: it is not made.
  ApiEndpoints(json::Value service, std::optional<ApiAddress> address)
      : service_(std::move(service)), address_(std::move(address)) {}

  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

 private:
  json::Value service_;
  std::optional<ApiAddress> address_;
};

}  // namespace gangway::controllers
