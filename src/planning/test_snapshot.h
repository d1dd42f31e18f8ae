// Builders of snapshots for tests: a_cluster().node("n0", {gpus}).running("a", "n0", …).waiting("b", …).
//
// Everything has a name, and plans are read back as lines of text in which only names occur: what a test expects can be
// written down before the code is run.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planning/plan.h"
#include "planning/schedule/schedule.h"
#include "planning/snapshot.h"

namespace gangway::planning::testing {

inline constexpr WallTime kNow = WallTime(std::chrono::seconds(1'700'000'000));
inline constexpr std::int64_t kGi = std::int64_t{1} << 30;

struct Size {
  std::int64_t gpus = 0;
  std::int64_t milli_cpu = 1000;
  std::int64_t memory = kGi;
};

class TestCluster {
 public:
  TestCluster() {
    snapshot_.now = kNow;
    gpu_ = snapshot_.resources.id_of("nvidia.com/gpu");
  }

  TestCluster& node(const std::string& name, std::int64_t gpus, Labels labels = {}, std::vector<Taint> taints = {},
                    std::int64_t milli_cpu = 64'000) {
    Node node{.name = name, .hostname = name};
    std::sort(labels.begin(), labels.end());
    node.traits = one_of(traits_, NodeTraits{std::move(labels), std::move(taints), false});
    node.allocatable = {milli_cpu, 256 * kGi, 1024 * kGi, 110, gpus};
    nodes_[name] = static_cast<NodeId>(snapshot_.nodes.size());
    snapshot_.nodes.push_back(std::move(node));
    return *this;
  }
  TestCluster& nodes(const std::string& prefix, int count, std::int64_t gpus) {
    for (int i = 0; i < count; ++i) node(fmt::format("{}{}", prefix, i), gpus);
    return *this;
  }

  // A pod that waits since `waited` seconds, a gang of its own.
  TestCluster& waiting(const std::string& name, Size size, std::int64_t priority = 0, std::int64_t waited = 60) {
    return add(name, name, size, priority, waited, "", true);
  }
  // One that has run for so long.
  TestCluster& running(const std::string& name, const std::string& node, Size size, std::int64_t priority = 0,
                       std::int64_t ran = 3600) {
    return add(name, name, size, priority, ran, node, true);
  }
  // A gang of `count` pods g-0, g-1, … that must start together; `min` of them suffice.
  TestCluster& waiting_gang(const std::string& name, int count, Size size, std::int64_t priority = 0, int min = 0,
                            std::int64_t waited = 60) {
    for (int i = 0; i < count; ++i) add(fmt::format("{}-{}", name, i), name, size, priority, waited, "", false, i);
    return sized(name, min == 0 ? count : min, count);
  }
  // Its members are on these nodes, in turn.
  TestCluster& running_gang(const std::string& name, const std::vector<std::string>& on, Size size,
                            std::int64_t priority = 0, int min = 0, std::int64_t ran = 3600) {
    for (std::size_t i = 0; i < on.size(); ++i)
      add(fmt::format("{}-{}", name, i), name, size, priority, ran, on[i], false, static_cast<std::int64_t>(i));
    return sized(name, min == 0 ? static_cast<int>(on.size()) : min, static_cast<int>(on.size()));
  }

  Gang& gang(const std::string& name) { return snapshot_.gangs[gangs_.at(name)]; }
  Pod& pod(const std::string& name) { return snapshot_.pods[pods_.at(name)]; }
  Node& node_of(const std::string& name) { return snapshot_.nodes[nodes_.at(name)]; }
  GangId gang_id(const std::string& name) const { return gangs_.at(name); }
  PodId pod_id(const std::string& name) const { return pods_.at(name); }
  NodeId node_id(const std::string& name) const { return nodes_.at(name); }
  ResourceId gpu() const { return gpu_; }
  Snapshot& snapshot() { return snapshot_; }
  Policies& policies() { return policies_; }

  // Gives one pod a shape of its own.
  template <class Change>
  TestCluster& shape(const std::string& name, Change change) {
    PodShape shape = *pod(name).shape;
    change(shape);
    pod(name).shape = one_of(shapes_, std::move(shape));
    return *this;
  }
  std::shared_ptr<const PodShape> shape_of(Size size) {
    PodShape shape;
    shape.ns = "default";
    shape.request = {{kCpu, size.milli_cpu}, {kMemory, size.memory}, {kPods, 1}};
    if (size.gpus > 0) shape.request.emplace_back(gpu_, size.gpus);
    shape.load_cpu = size.milli_cpu;
    shape.load_memory = size.memory;
    return one_of(shapes_, std::move(shape));
  }

  Plan plan() const { return schedule(snapshot_, policies_); }

  // "a: a-0@n0 a-1@n1; evicts b(fail: b-0); waits for c-0; withdraws d"
  std::string text(const Ticket& ticket) const {
    std::string out = snapshot_.gangs[ticket.gang].name + ":";
    for (const Placement& place : ticket.places)
      out += fmt::format(" {}@{}", snapshot_.pods[place.pod].name, snapshot_.nodes[place.node].name);
    for (const Hold& hold : ticket.holds) out += fmt::format(" late{}@{}", hold.late, snapshot_.nodes[hold.node].name);
    for (const Eviction& eviction : ticket.evictions) {
      static constexpr const char* kHow[] = {"shrink", "fail", "requeue"};
      out += fmt::format("; evicts {}({}:", snapshot_.gangs[eviction.gang].name, kHow[static_cast<int>(eviction.how)]);
      for (const PodId pod : eviction.pods) out += " " + snapshot_.pods[pod].name;
      out += ")";
    }
    for (const PodId pod : ticket.waits_for) out += "; waits for " + snapshot_.pods[pod].name;
    for (const GangId other : ticket.withdrawn) out += "; withdraws " + snapshot_.gangs[other].name;
    if (ticket.is_growth) out += "; grows";
    return out;
  }
  std::vector<std::string> tickets(const Plan& plan) const {
    std::vector<std::string> lines;
    lines.reserve(plan.tickets.size());
    for (const Ticket& ticket : plan.tickets) lines.push_back(text(ticket));
    return lines;
  }
  std::vector<std::string> tickets() const { return tickets(plan()); }
  // The names of the gangs that wait.
  std::vector<std::string> refused() const {
    std::vector<std::string> names;
    for (const Verdict& verdict : plan().verdicts) names.push_back(snapshot_.gangs[verdict.gang].name);
    return names;
  }

 private:
  template <class T>
  static std::shared_ptr<const T> one_of(std::vector<std::shared_ptr<const T>>& known, T value) {
    for (const auto& other : known)
      if (*other == value) return other;
    return known.emplace_back(std::make_shared<const T>(std::move(value)));
  }

  TestCluster& add(const std::string& name, const std::string& gang, Size size, std::int64_t priority,
                   std::int64_t seconds, const std::string& node, bool is_plain, std::int64_t rank = 0) {
    if (!gangs_.contains(gang)) {
      gangs_[gang] = static_cast<GangId>(snapshot_.gangs.size());
      snapshot_.gangs.push_back({.ns = "default",
                                 .name = gang,
                                 .uid = "uid-" + gang,
                                 .is_plain = is_plain,
                                 .since = kNow - std::chrono::seconds(seconds)});
    }
    pods_[name] = static_cast<PodId>(snapshot_.pods.size());
    Gang& owner = snapshot_.gangs[gangs_[gang]];
    owner.members.push_back(pods_[name]);
    snapshot_.pods.push_back({.ns = "default",
                              .name = name,
                              .uid = "uid-" + name,
                              .shape = shape_of(size),
                              .gang = gangs_[gang],
                              .node = node.empty() ? kNone : nodes_.at(node),
                              .priority = priority,
                              .rank = rank,
                              .since = kNow - std::chrono::seconds(seconds)});
    return *this;
  }
  TestCluster& sized(const std::string& name, int min, int size) {
    gang(name).min_members = min;
    gang(name).size = size;
    return *this;
  }

  Snapshot snapshot_;
  Policies policies_;
  ResourceId gpu_ = 0;
  std::map<std::string, NodeId> nodes_;
  std::map<std::string, PodId> pods_;
  std::map<std::string, GangId> gangs_;
  std::vector<std::shared_ptr<const NodeTraits>> traits_;
  std::vector<std::shared_ptr<const PodShape>> shapes_;
};

}  // namespace gangway::planning::testing
