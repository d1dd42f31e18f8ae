// NodeKeeper: what a kubelet does for its Node: makes the object, renews its Lease, tells its status.
//
//   no Node ──► created, with its status
//   every 10 s, at the node's own moment ──► Lease kube-node-lease/<node>, made when it is missing
//   every 5 min, at the node's own moment ─► status; at once when it has changed, or somebody else has changed it
//
// A node's moments come from a hash of its name: 5,000 nodes are 500 small writes a second, not 5,000 at once. Leases
// are written without being read: a node has no right to watch them, and nobody else writes its own. Belongs to one
// loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/node/node_spec.h"
#include "client/api_client.h"
#include "client/informer.h"
#include "json/value.h"
#include "sys/event_loop.h"

namespace gangway::agent {

struct KeptNode {
  NodeSpec spec;
  client::ApiClient* client = nullptr;  // with the rights of this node
  client::Informer* nodes = nullptr;    // that shows this node's object, and maybe others; started by its owner
};

struct NodeKeeperOptions {
  NodeSystem system;
  bool declared = true;                                 // by a description that also ends them; see new_node()
  std::map<std::string, std::string> annotations = {};  // that the objects have
};

class NodeKeeper {
 public:
  static constexpr Duration kRenewEvery = std::chrono::seconds(10);
  static constexpr Duration kReportEvery = std::chrono::minutes(5);
  static constexpr int kLeaseSeconds = 40;

  // `condition`: of a node, as of now.
  NodeKeeper(sys::EventLoop& loop, std::vector<KeptNode> nodes, NodeKeeperOptions options,
             std::function<NodeCondition(const std::string& node)> condition);
  ~NodeKeeper();
  NodeKeeper(const NodeKeeper&) = delete;
  NodeKeeper& operator=(const NodeKeeper&) = delete;

  void start();
  // What condition() says of the nodes has changed.
  void condition_changed();

  // When the request of the last renewal that succeeded was sent; the start of the keeper when there was none.
  MonoTime renewed_at(const std::string& node) const;
  // Runs after each renewal.
  void on_renewal(std::function<void(const std::string& node)> told) { on_renewal_ = std::move(told); }

 private:
  struct Kept {
    KeptNode node;
    MonoTime renewed_at;
    MonoTime reported_at;
    bool has_lease = false;
    bool lease_under_way = false;
    bool report_under_way = false;
    bool report_again = false;
    unsigned lease_failures = 0;
    unsigned report_failures = 0;
  };
  enum class Duty : std::uint8_t { kLease, kReport };
  using Due = std::tuple<MonoTime, Duty, std::string>;

  void schedule(Duty duty, const std::string& name, MonoTime when);
  void arm();
  void do_due();
  void on_change(const client::ObjectChange& change);
  bool is_as_told(Kept& kept, const api::Version& version) const;

  json::Object metadata_patch(const json::Value& object, const Kept& kept) const;
  void renew(Kept& kept);
  void renewed(const std::string& name, MonoTime sent, const Result<api::Version>& answer);
  void report(Kept& kept);
  void reported(const std::string& name, const Result<api::Version>& answer);
  void send_report(Kept& kept, client::ApiRequest request);
  MonoTime next_moment(const std::string& name, Duration period) const;

  sys::EventLoop& loop_;
  NodeKeeperOptions options_;
  std::function<NodeCondition(const std::string&)> condition_;
  std::function<void(const std::string&)> on_renewal_;
  std::map<std::string, Kept> nodes_;
  std::set<Due> due_;
  std::map<std::pair<Duty, std::string>, MonoTime> scheduled_;
  std::vector<std::unique_ptr<sys::Subscription>> subscriptions_;
  sys::TimerId timer_ = sys::TimerId::kNone;
  MonoTime timer_at_;
  MonoTime started_at_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
