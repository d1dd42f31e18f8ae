// What a decision costs, and how that grows with the number of nodes: schedule() alone, without API and effects.
//
// Each shape is also decided by a bare walk over all nodes for every pod, which is what planning must beat; both are
// measured in the same run, so their ratio means something on any machine.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "planning/schedule/schedule.h"
#include "planning/snapshot.h"

namespace gangway::planning {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;

class Cluster {
 public:
  explicit Cluster(int nodes) {
    snapshot.now = WallTime(std::chrono::seconds(1'700'000'000));
    gpu = snapshot.resources.id_of("nvidia.com/gpu");
    const auto traits = std::make_shared<const NodeTraits>();
    for (int i = 0; i < nodes; ++i) {
      Node node{.name = fmt::format("node-{:05}", i), .hostname = fmt::format("node-{:05}", i), .traits = traits};
      node.allocatable = {32'000, 256 * kGi, 1024 * kGi, 110, 8};
      snapshot.nodes.push_back(std::move(node));
    }
  }

  std::shared_ptr<const PodShape> shape(std::int64_t milli_cpu, std::int64_t gpus) const {
    PodShape shape;
    shape.ns = "default";
    shape.request = {{kCpu, milli_cpu}, {kMemory, kGi}, {kPods, 1}};
    if (gpus > 0) shape.request.emplace_back(gpu, gpus);
    shape.load_cpu = milli_cpu;
    shape.load_memory = kGi;
    return std::make_shared<const PodShape>(std::move(shape));
  }

  GangId gang(const std::string& name, std::int64_t size, bool is_plain) {
    snapshot.gangs.push_back({.ns = "default",
                              .name = name,
                              .uid = name,
                              .is_plain = is_plain,
                              .min_members = size,
                              .size = size,
                              .since = snapshot.now});
    return static_cast<GangId>(snapshot.gangs.size() - 1);
  }
  void pod(const std::string& name, GangId gang, std::shared_ptr<const PodShape> shape, std::int64_t priority,
           NodeId node = kNone) {
    snapshot.gangs[gang].members.push_back(static_cast<PodId>(snapshot.pods.size()));
    snapshot.pods.push_back({.ns = "default",
                             .name = name,
                             .uid = name,
                             .shape = std::move(shape),
                             .gang = gang,
                             .node = node,
                             .priority = priority,
                             .since = snapshot.now - std::chrono::hours(1)});
  }
  void plain_pods(const std::string& prefix, int count, std::int64_t milli_cpu, std::int64_t gpus,
                  std::int64_t priority) {
    const auto one = shape(milli_cpu, gpus);
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("{}-{:05}", prefix, i);
      pod(name, gang(name, 1, true), one, priority);
    }
  }
  void fill(int pods_a_node, std::int64_t milli_cpu, std::int64_t gpus) {
    const auto one = shape(milli_cpu, gpus);
    for (NodeId node = 0; node < snapshot.nodes.size(); ++node)
      for (int i = 0; i < pods_a_node; ++i) {
        const std::string name = fmt::format("low-{:05}-{}", node, i);
        pod(name, gang(name, 1, true), one, 0, node);
      }
  }

  Snapshot snapshot;
  ResourceId gpu = 0;
};

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// The bare walk: for every waiting pod, all nodes, the least loaded that has room.
std::size_t walk(const Snapshot& snapshot) {
  std::vector<Amounts> left;
  for (const Node& node : snapshot.nodes) left.push_back(node.allocatable);
  for (const Pod& pod : snapshot.pods)
    if (pod.node != kNone) subtract(left[pod.node], pod.shape->request);
  std::size_t placed = 0;
  for (const Pod& pod : snapshot.pods) {
    if (pod.node != kNone) continue;
    NodeId best = kNone;
    for (NodeId node = 0; node < left.size(); ++node) {
      bool fits = true;
      for (const auto& [id, amount] : pod.shape->request) fits = fits && left[node][id] >= amount;
      if (fits && (best == kNone || left[node][kCpu] > left[best][kCpu])) best = node;
    }
    if (best == kNone) continue;
    subtract(left[best], pod.shape->request);
    ++placed;
  }
  return placed;
}

void report(const char* what, int nodes, Cluster& cluster, std::size_t expected, bool with_walk) {
  std::size_t placed = 0;
  std::size_t victims = 0;
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    Plan plan;
    best = std::min(best, seconds_of([&] { plan = schedule(cluster.snapshot, {}); }));
    placed = victims = 0;
    for (const Ticket& ticket : plan.tickets) {
      placed += ticket.places.size();
      for (const Eviction& eviction : ticket.evictions) victims += eviction.pods.size();
    }
  }
  std::string against = "";
  if (with_walk) {
    std::size_t by_walk = 0;
    const double walked = seconds_of([&] { by_walk = walk(cluster.snapshot); });
    against = fmt::format("{:>8.1f} x the bare walk", walked / best);
  }
  fmt::print("{:<28} {:>6} nodes {:>7} placed {:>6} victims {:>9.1f} ms {:>10.0f} /s {:>8.2f} us each {}{}\n", what,
             nodes, placed, victims, best * 1e3, static_cast<double>(placed) / best,
             best * 1e6 / static_cast<double>(placed), against, placed == expected ? "" : "  (NOT ALL PLACED)");
  std::fflush(stdout);
}

void run() {
  for (const int nodes : {1000, 5000, 20000}) {
    Cluster pods(nodes);
    pods.plain_pods("p", std::min(10'000, nodes * 30), 1000, 0, 0);
    report("10,000 pods", nodes, pods, 10'000, true);
    Cluster gpus(nodes);
    gpus.plain_pods("p", std::min(10'000, nodes * 8), 1000, 1, 0);
    report("10,000 pods of one GPU", nodes, gpus, static_cast<std::size_t>(std::min(10'000, nodes * 8)), true);
    Cluster gang(nodes);
    const GangId id = gang.gang("g", 1000, false);
    const auto shape = gang.shape(4000, 8);
    for (int i = 0; i < 1000; ++i) gang.pod(fmt::format("g-{:04}", i), id, shape, 0);
    report("a gang of 1,000", nodes, gang, 1000, true);
    Cluster full(nodes);
    full.fill(4, 8000, 2);
    full.plain_pods("high", 1000, 8000, 2, 1000);
    report("1,000 preemptors", nodes, full, 1000, false);
  }
}

}  // namespace
}  // namespace gangway::planning

int main() {
  gangway::planning::run();
}
