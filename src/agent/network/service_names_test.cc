#include "agent/network/service_names.h"

#include <gtest/gtest.h>

#include "base/address.h"

namespace gangway::agent {
namespace {

Endpoint endpoint(const char* address, bool ready = true, std::string hostname = "") {
  return {*parse_v4(address), ready, false, std::move(hostname)};
}

TEST(ServiceNames, AServiceHasItsClusterAddress) {
  Services services;
  services[{"default", "kubernetes"}].cluster_ip = parse_v4("10.96.0.1");
  services[{"team-a", "web"}].cluster_ip = parse_v4("10.96.3.4");
  EXPECT_EQ(host_entries(services, {}),
            (HostFiles{{"default.kubernetes", "10.96.0.1 kubernetes.default.svc.cluster.local\n"},
                       {"team-a.web", "10.96.3.4 web.team-a.svc.cluster.local\n"}}));
}

TEST(ServiceNames, AHeadlessServiceHasItsReadyEndpoints) {
  Services services;
  services[{"ml", "train"}].headless = true;
  Slices slices;
  slices[{"ml", "train-1"}] = {
      {"ml", "train"}, {}, {endpoint("10.244.0.5", true, "train-0"), endpoint("10.244.0.6", false, "train-1")}};
  slices[{"ml", "train-2"}] = {{"ml", "train"}, {}, {endpoint("10.244.0.7")}};
  slices[{"ml", "other"}] = {{"ml", "other"}, {}, {endpoint("10.244.0.8")}};
  EXPECT_EQ(host_entries(services, slices),
            (HostFiles{{"ml.train",
                        "10.244.0.5 train-0.train.ml.svc.cluster.local train.ml.svc.cluster.local\n"
                        "10.244.0.7 10-244-0-7.train.ml.svc.cluster.local train.ml.svc.cluster.local\n"}}));
}

TEST(ServiceNames, NoAddressNoFile) {
  Services services;
  services[{"ml", "train"}].headless = true;  // nobody is ready
  services[{"ml", "pending"}];                // has no address yet
  EXPECT_EQ(host_entries(services, {}), HostFiles());
}

}  // namespace
}  // namespace gangway::agent
