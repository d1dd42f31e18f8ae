#include "agent/node/node_keeper.h"

#include <algorithm>
#include <tuple>

#include "agent/node/node_status.h"
#include "base/hash.h"
#include "client/backoff.h"
#include "client/resource.h"
#include "json/value.h"
#include "sys/log.h"

namespace gangway::agent {
namespace {

using client::ApiRequest;
using client::Method;
using client::resources::kLeases;
using client::resources::kNodes;

constexpr const char* kLeaseNamespace = "kube-node-lease";
constexpr Duration kFirstRetry = std::chrono::milliseconds(200);
constexpr Duration kLongestRetry = std::chrono::seconds(7);
// Whoever else writes our status is answered, but not in a tight circle.
constexpr Duration kReportAgain = std::chrono::seconds(1);
constexpr Duration kTogether = std::chrono::milliseconds(250);

json::Object lease_spec(const std::string& name, WallTime now) {
  return {{"holderIdentity", name},
          {"leaseDurationSeconds", NodeKeeper::kLeaseSeconds},
          {"renewTime", to_rfc3339_micro(now)}};
}

json::Value new_lease(const api::Header& node, WallTime now) {
  json::Object owner{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node.name.name}, {"uid", node.uid}};
  return json::Object{{"apiVersion", "coordination.k8s.io/v1"},
                      {"kind", "Lease"},
                      {"metadata", json::Object{{"namespace", kLeaseNamespace},
                                                {"name", node.name.name},
                                                {"ownerReferences", json::Array{std::move(owner)}}}},
                      {"spec", lease_spec(node.name.name, now)}};
}

ApiRequest request_of(Method method, const client::Resource& resource, api::ObjectName object,
                      const json::Value& body) {
  ApiRequest request;
  request.method = method;
  request.resource = resource;
  request.object = std::move(object);
  request.body = json::serialize(body);
  request.field_manager = "kubelet";
  return request;
}

}  // namespace

NodeKeeper::NodeKeeper(sys::EventLoop& loop, std::vector<KeptNode> nodes, NodeKeeperOptions options,
                       std::function<NodeCondition(const std::string&)> condition)
    : loop_(loop), options_(std::move(options)), condition_(std::move(condition)) {
  for (KeptNode& node : nodes) {
    std::string name = node.spec.name;
    nodes_[std::move(name)].node = std::move(node);
  }
}

NodeKeeper::~NodeKeeper() {
  loop_.cancel(timer_);
}

void NodeKeeper::start() {
  started_at_ = loop_.clock().mono();
  std::set<client::Informer*> informers;
  for (auto& [name, kept] : nodes_) {
    kept.renewed_at = started_at_;
    kept.reported_at = started_at_ - kReportAgain;
    informers.insert(kept.node.nodes);
  }
  for (client::Informer* informer : informers) {
    subscriptions_.push_back(informer->subscribe({
        .on_change = [this](const client::ObjectChange& change) { on_change(change); },
        .on_progress =
            [this, informer, first = std::make_shared<bool>(true)] {
              if (!informer->has_synced() || !std::exchange(*first, false)) return;
              // Only a list shows that a node is not there.
              for (auto& [name, kept] : nodes_) {
                if (kept.node.nodes == informer) schedule(Duty::kReport, name, loop_.clock().mono());
              }
            },
    }));
  }
}

void NodeKeeper::condition_changed() {
  for (const auto& [name, kept] : nodes_) {
    if (kept.node.nodes->has_synced()) schedule(Duty::kReport, name, loop_.clock().mono());
  }
}

MonoTime NodeKeeper::renewed_at(const std::string& node) const {
  const auto at = nodes_.find(node);
  return at == nodes_.end() ? started_at_ : at->second.renewed_at;
}

// ── when ──

// The node's own offset within a period of wall time, so that it does not depend on when anybody was started.
MonoTime NodeKeeper::next_moment(const std::string& name, Duration period) const {
  const Duration offset(static_cast<Duration::rep>(fnv1a(name) % static_cast<std::uint64_t>(period.count())));
  const Duration since = (loop_.clock().wall().time_since_epoch() - offset) % period;
  const Duration exact = loop_.clock().mono().time_since_epoch() + period - since;
  // With those whose moments are near: hundreds of writes that come together cost little more than a few apart.
  const Duration together = (exact + kTogether - Duration(1)) / kTogether * kTogether;
  return MonoTime(together);
}

// Of several moments the earliest counts.
void NodeKeeper::schedule(Duty duty, const std::string& name, MonoTime when) {
  const auto [at, added] = scheduled_.try_emplace({duty, name}, when);
  if (!added) {
    if (at->second <= when) return;
    due_.erase({at->second, duty, name});
    at->second = when;
  }
  due_.emplace(when, duty, name);
  arm();
}

void NodeKeeper::arm() {
  if (due_.empty()) return;
  const MonoTime next = std::get<MonoTime>(*due_.begin());
  if (timer_ != sys::TimerId::kNone && timer_at_ <= next) return;
  loop_.cancel(timer_);
  timer_at_ = next;
  timer_ = loop_.run_at(next, [this] { do_due(); });
}

void NodeKeeper::do_due() {
  timer_ = sys::TimerId::kNone;
  const MonoTime now = loop_.clock().mono();
  while (!due_.empty() && std::get<MonoTime>(*due_.begin()) <= now) {
    const auto [when, duty, name] = *due_.begin();
    due_.erase(due_.begin());
    scheduled_.erase({duty, name});
    Kept& kept = nodes_.at(name);
    if (duty == Duty::kLease) {
      renew(kept);
    } else {
      report(kept);
    }
  }
  arm();
}

void NodeKeeper::on_change(const client::ObjectChange& change) {
  const auto at = nodes_.find(change.now.header->name.name);
  if (at == nodes_.end()) return;
  Kept& kept = at->second;
  const MonoTime now = loop_.clock().mono();
  if (change.type == client::ObjectChange::Type::kDeleted) {
    kept.has_lease = false;  // it goes with its owner
    return schedule(Duty::kReport, at->first, std::max(now, kept.reported_at + kReportAgain));
  }
  if (change.type == client::ObjectChange::Type::kAdded) schedule(Duty::kLease, at->first, now);
  if (!is_as_told(kept, change.now)) schedule(Duty::kReport, at->first, std::max(now, kept.reported_at + kReportAgain));
}

bool NodeKeeper::is_as_told(Kept& kept, const api::Version& version) const {
  const auto tree = json::parse(*version.json);
  if (!tree) return true;
  const WallTime now = loop_.clock().wall();
  const NodeCondition condition = condition_(kept.node.spec.name);
  return metadata_patch(*tree, kept).empty() &&
         !status_patch(*tree, kept.node.spec, options_.system, condition, false, now);
}

// What the object's metadata should say and does not.
json::Object NodeKeeper::metadata_patch(const json::Value& object, const Kept& kept) const {
  json::Object patch;
  json::Object annotations;
  for (const auto& [key, value] : options_.annotations) {
    if (json::string_at(object, {"metadata", "annotations", key}) != value) annotations[key] = value;
  }
  json::Object labels = label_patch(object, kept.node.spec, options_.system);
  if (!annotations.empty()) patch["annotations"] = std::move(annotations);
  if (!labels.empty()) patch["labels"] = std::move(labels);
  return patch;
}

// ── leases ──

void NodeKeeper::renew(Kept& kept) {
  const std::string& name = kept.node.spec.name;
  const api::Version node = kept.node.nodes->objects().get({"", name});
  if (!node || std::exchange(kept.lease_under_way, true)) return;
  const WallTime now = loop_.clock().wall();
  ApiRequest request =
      kept.has_lease
          ? request_of(Method::kPatch, kLeases, {kLeaseNamespace, name}, json::Object{{"spec", lease_spec(name, now)}})
          : request_of(Method::kCreate, kLeases, {kLeaseNamespace, ""}, new_lease(*node.header, now));
  kept.node.client->call(std::move(request), [this, name, sent = loop_.clock().mono(),
                                              life = std::weak_ptr(life_)](Result<api::Version> answer) {
    if (!life.expired()) renewed(name, sent, answer);
  });
}

void NodeKeeper::renewed(const std::string& name, MonoTime sent, const Result<api::Version>& answer) {
  Kept& kept = nodes_.at(name);
  kept.lease_under_way = false;
  const MonoTime now = loop_.clock().mono();
  if (answer) {
    kept.has_lease = true;
    kept.lease_failures = 0;
    kept.renewed_at = sent;
    schedule(Duty::kLease, name, next_moment(name, kRenewEvery));
    if (on_renewal_) on_renewal_(name);
    return;
  }
  const Reason reason = answer.error().reason;
  if (reason == Reason::kAlreadyExists || reason == Reason::kNotFound) {
    kept.has_lease = reason == Reason::kAlreadyExists;
  } else if (kept.lease_failures == 0) {
    sys::log_warning("a node's lease was not renewed", {{"node", name}, {"error", answer.error().message}});
  }
  schedule(Duty::kLease, name, now + client::doubled(kFirstRetry, kLongestRetry, kept.lease_failures++));
}

// ── status ──

void NodeKeeper::report(Kept& kept) {
  if (kept.report_under_way) {
    kept.report_again = true;
    return;
  }
  const std::string& name = kept.node.spec.name;
  const api::Version version = kept.node.nodes->objects().get({"", name});
  const NodeCondition condition = condition_(name);
  const WallTime now = loop_.clock().wall();
  if (!version) {
    json::Value object = new_node(kept.node.spec, options_.system, condition, options_.declared, now);
    for (const auto& [key, value] : options_.annotations)
      json::object_at(object, {"metadata", "annotations"})[key] = value;
    return send_report(kept, request_of(Method::kCreate, kNodes, {}, object));
  }
  const auto tree = json::parse(*version.json);
  if (!tree) return;
  if (json::Object metadata = metadata_patch(*tree, kept); !metadata.empty()) {
    kept.report_again = true;
    metadata["uid"] = version.header->uid;
    return send_report(kept, request_of(Method::kPatch, kNodes, {"", name}, json::Object{{"metadata", metadata}}));
  }
  const bool due = loop_.clock().mono() - kept.reported_at >= kReportEvery / 2;
  auto patch = status_patch(*tree, kept.node.spec, options_.system, condition, due, now);
  if (!patch) return schedule(Duty::kReport, name, next_moment(name, kReportEvery));
  const json::Object metadata{{"uid", version.header->uid}};
  ApiRequest request = request_of(Method::kPatch, kNodes, {"", name},
                                  json::Object{{"metadata", metadata}, {"status", std::move(*patch)}});
  request.subresource = "status";
  send_report(kept, std::move(request));
}

void NodeKeeper::send_report(Kept& kept, ApiRequest request) {
  kept.report_under_way = true;
  kept.node.client->call(std::move(request), [this, name = kept.node.spec.name,
                                              life = std::weak_ptr(life_)](const Result<api::Version>& answer) {
    if (!life.expired()) reported(name, answer);
  });
}

void NodeKeeper::reported(const std::string& name, const Result<api::Version>& answer) {
  Kept& kept = nodes_.at(name);
  kept.report_under_way = false;
  const MonoTime now = loop_.clock().mono();
  const bool again = std::exchange(kept.report_again, false);
  if (answer || answer.error().reason == Reason::kAlreadyExists) {
    kept.report_failures = 0;
    kept.reported_at = now;
    // Not before the mirror shows what was written.
    return schedule(Duty::kReport, name, again ? now + kReportAgain : next_moment(name, kReportEvery));
  }
  if (kept.report_failures == 0)
    sys::log_warning("a node's status was not told", {{"node", name}, {"error", answer.error().message}});
  schedule(Duty::kReport, name, now + client::doubled(kFirstRetry, kLongestRetry, kept.report_failures++));
}

}  // namespace gangway::agent
