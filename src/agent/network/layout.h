// What the network of one cluster is called on its machine. Everything here carries the cluster's short id and goes
// with `gangway down`; it lives as long as the namespaces do, so none of it is left after a restart of the machine.
//
//   /run/gangway/ID/subnet     the claimed subnet        /run/netns/ID-UID   a pod's network namespace
//   /run/gangway/ID/pods/      what pods were given      ID                  the bridge, and the table of pods' rules
//   /run/gangway/ID/ipam/      host-local's records      ID_services         the table of Services' rules
//   /run/gangway/ID/hosts/     dnsmasq reads names here
#pragma once

#include <string>
#include <string_view>

#include "base/address.h"

namespace gangway::agent {

// The interface group of all Gangway bridges of a machine ("gw"): how the rules of one cluster know those of others.
inline constexpr unsigned kBridgeGroup = 0x6777;
// The name of the interface inside a pod.
inline constexpr std::string_view kPodInterface = "eth0";

struct NetworkLayout {
  std::string id;  // "gw1234abcd"
  Network subnet;
  std::string run_root = "/run/gangway";
  std::string netns_root = "/run/netns";

  const std::string& bridge() const { return id; }
  const std::string& pod_table() const { return id; }
  std::string service_table() const { return id + "_services"; }
  std::uint32_t gateway() const { return subnet.first + 1; }
  std::string gateway_text() const { return v4_text(gateway()); }

  std::string run_dir() const { return run_root + "/" + id; }
  std::string pods_dir() const { return run_dir() + "/pods"; }
  std::string ipam_dir() const { return run_dir() + "/ipam"; }
  std::string hosts_dir() const { return run_dir() + "/hosts"; }
  std::string staging_dir() const { return run_dir() + "/staging"; }
  std::string dns_pid_file() const { return run_dir() + "/dnsmasq.pid"; }
  std::string pod_record(std::string_view uid) const { return pods_dir() + "/" + std::string(uid) + ".json"; }

  std::string netns_prefix() const { return id + "-"; }
  std::string netns_name(std::string_view uid) const { return netns_prefix() + std::string(uid); }
  std::string netns_path(std::string_view uid) const { return netns_root + "/" + netns_name(uid); }
};

}  // namespace gangway::agent
