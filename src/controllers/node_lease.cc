#include "controllers/node_lease.h"

#include <cstdint>
#include <utility>

#include "client/resource.h"
#include "controllers/conditions.h"
#include "controllers/node_status.h"

namespace gangway::controllers {
namespace {

using client::Create;
using client::Outcome;
using client::Patch;
using client::PatchStatus;
using client::View;
using client::WorkQueue;
using client::resources::kLeases;
using client::resources::kNodes;

constexpr const char* kLeaseNamespace = "kube-node-lease";

// The node's own offset within a period.
Duration phase_of(const std::string& name, Duration period) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return Duration(static_cast<Duration::rep>(hash % static_cast<std::uint64_t>(period.count())));
}

// The node's last moment that is not after `now`.
WallTime last_moment(const std::string& name, Duration period, WallTime now) {
  const Duration since = (now.time_since_epoch() - phase_of(name, period)) % period;
  return now - since;
}

json::Object lease_spec(const std::string& name, WallTime now) {
  return {{"holderIdentity", name},
          {"leaseDurationSeconds", NodeLease::kLeaseSeconds},
          {"renewTime", to_rfc3339_micro(now)}};
}

json::Value new_lease(const api::Version& node, WallTime now) {
  const std::string& name = node.header->name.name;
  json::Object owner{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", name}, {"uid", node.header->uid}};
  return json::Object{{"apiVersion", "coordination.k8s.io/v1"},
                      {"kind", "Lease"},
                      {"metadata", json::Object{{"namespace", kLeaseNamespace},
                                                {"name", name},
                                                {"ownerReferences", json::Array{std::move(owner)}}}},
                      {"spec", lease_spec(name, now)}};
}

// When the lease was renewed last, if that can be told.
std::optional<WallTime> renewed_at(const api::Version& lease) {
  const auto tree = json::parse(*lease.json);
  if (!tree) return std::nullopt;
  const auto time = parse_rfc3339(json::string_at(*tree, {"spec", "renewTime"}));
  if (!time) return std::nullopt;
  return *time;
}

bool is_healthy(const json::Value& node, WallTime reported_since) {
  for (const auto& [type, status] : {std::pair("Ready", "True"), std::pair("MemoryPressure", "False"),
                                     std::pair("DiskPressure", "False"), std::pair("PIDPressure", "False")}) {
    const json::Object* found = find_condition(node, type);
    if (found == nullptr) return false;
    const json::Value condition = *found;
    if (json::string_at(condition, {"status"}) != status) return false;
    const auto heartbeat = parse_rfc3339(json::string_at(condition, {"lastHeartbeatTime"}));
    // Heartbeats have whole seconds.
    if (!heartbeat || *heartbeat + std::chrono::seconds(1) <= reported_since) return false;
  }
  return true;
}

client::KeyMapper node_of_lease() {
  return [](const client::ObjectChange& change, const View&, const client::KeySink& sink) {
    // A renewal is our own doing and needs no look.
    const api::ObjectName& name = change.now.header->name;
    if (name.ns == kLeaseNamespace && change.type == client::ObjectChange::Type::kDeleted)
      sink(client::key_of(kNodes, {"", name.name}), WorkQueue::Priority::kUrgent);
  };
}

}  // namespace

std::vector<client::WatchRule> NodeLease::watches() const {
  return {{.resource = kNodes, .keys = client::itself(kNodes)}, {.resource = kLeases, .keys = node_of_lease()}};
}

Outcome NodeLease::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const std::string& name = key.object.name;
  if (!nodes_.contains(name)) return outcome;
  const api::Version node = view.get(kNodes, key.object);
  if (!node || node.header->deleting_since) return outcome;
  const WallTime now = view.now();

  const WallTime due = last_moment(name, kRenewEvery, now);
  const api::Version lease = view.get(kLeases, {kLeaseNamespace, name});
  if (!lease) {
    outcome.allowed_now.push_back(Create{kLeases, kLeaseNamespace, new_lease(node, now), node.header->uid});
  } else if (renewed_at(lease).value_or(WallTime()) < due - std::chrono::microseconds(1)) {
    outcome.allowed_now.push_back(
        Patch{client::target_of(kLeases, lease), json::Object{{"spec", lease_spec(name, now)}}});
  }

  const auto tree = json::parse(*node.json);
  const WallTime report_due = last_moment(name, kReportEvery, now);
  if (tree && !is_healthy(*tree, report_due)) {
    json::Value body = json::Object();
    json::object_at(body, {"status"})["conditions"] = healthy_conditions(conditions_of(*tree), now);
    outcome.allowed_now.push_back(PatchStatus{client::target_of(kNodes, node), std::move(body)});
  }
  outcome.look_again(due + kRenewEvery);
  return outcome;
}

}  // namespace gangway::controllers
