// What recording a cycle costs the scheduler's loop, beside planning it, on 5,000 nodes with 50,000 pods.
//
// Measured in one run, so that the ratio means something on any machine. What the log's own thread does with an entry
// is measured apart: nobody waits for it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "planning/schedule/schedule.h"
#include "scheduler/flight/flight_recorder.h"

namespace gangway::scheduler::flight {
namespace {

constexpr int kNodes = 5000;
constexpr int kPodsANode = 10;
constexpr std::int64_t kGi = std::int64_t{1} << 30;

double milliseconds_of(const std::function<void()>& work) {
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const auto began = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    best = std::min(best, took.count());
  }
  return best;
}

class Cluster {
 public:
  explicit Cluster(int waiting) {
    snapshot.now = WallTime(std::chrono::seconds(1'700'000'000));
    const planning::ResourceId gpu = snapshot.resources.id_of("nvidia.com/gpu");
    const auto traits = std::make_shared<const planning::NodeTraits>();
    for (int i = 0; i < kNodes; ++i) {
      const std::string name = fmt::format("node-{:05}", i);
      snapshot.nodes.push_back({name, name, traits, {32'000, 256 * kGi, 1024 * kGi, 110, 8}});
    }
    planning::PodShape shape;
    shape.ns = "default";
    shape.request = {{planning::kCpu, 500}, {planning::kMemory, kGi}, {planning::kPods, 1}};
    shape.load_cpu = 500;
    shape.load_memory = kGi;
    // What every pod of a Kubernetes cluster tolerates.
    for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
      shape.tolerations.push_back({.key = key, .exists = true, .effect = planning::Taint::Effect::kNoExecute});
    const auto small = std::make_shared<const planning::PodShape>(shape);
    shape.request.emplace_back(gpu, 1);
    const auto large = std::make_shared<const planning::PodShape>(shape);
    for (int i = 0; i < kNodes * kPodsANode; ++i)
      pod(fmt::format("running-{:06}", i), small, static_cast<planning::NodeId>(i % kNodes));
    for (int i = 0; i < waiting; ++i) pod(fmt::format("waiting-{:06}", i), large, planning::kNone);
  }

  void pod(const std::string& name, std::shared_ptr<const planning::PodShape> shape, planning::NodeId node) {
    const auto id = static_cast<planning::PodId>(snapshot.pods.size());
    snapshot.pods.push_back({.ns = "default",
                             .name = name,
                             .uid = "00000000-0000-0000-0000-000000000000",
                             .shape = std::move(shape),
                             .labels = {{"app", "web"}, {"pod-template-hash", "6d4cf56db6"}},
                             .gang = static_cast<planning::GangId>(snapshot.gangs.size()),
                             .node = node,
                             .since = snapshot.now - std::chrono::hours(1)});
    snapshot.gangs.push_back({.ns = "default", .name = name, .uid = name, .members = {id}, .since = snapshot.now});
  }

  planning::Snapshot snapshot;
};

// So many pods have come since the last cycle, and as many that it placed are bound now.
Changes changes_of(const planning::Snapshot& snapshot, int count) {
  Changes changes;
  for (int i = 0; i < count; ++i) {
    const auto last = static_cast<planning::PodId>(snapshot.pods.size() - 1 - static_cast<std::size_t>(i));
    changes.pods[{"default", snapshot.pods[last].name}] = last;
    const auto bound = static_cast<planning::PodId>(i);
    changes.pods[{"default", snapshot.pods[bound].name}] = bound;
  }
  return changes;
}

void measure(int waiting) {
  const Cluster cluster(waiting);
  const planning::Policies policies;
  const planning::Budget budget;
  planning::Plan plan;
  const double planned = milliseconds_of([&] { plan = schedule(cluster.snapshot, policies, budget); });
  const std::vector<std::string> broken;
  const Basis basis{{"pods", 4711}, {"nodes", 4710}};
  const Cycle cycle{cluster.snapshot, policies, budget, plan, broken, basis};
  const Changes changes = changes_of(cluster.snapshot, waiting);
  EntryMaker maker;
  Entry entry;
  const double recorded = milliseconds_of([&] { entry = maker.make(cycle, changes); });
  const std::uint64_t bytes = entry.bytes();
  CycleRecord record;
  Changes everything;
  for (planning::NodeId id = 0; id < cluster.snapshot.nodes.size(); ++id)
    everything.nodes[cluster.snapshot.nodes[id].name] = id;
  for (planning::PodId id = 0; id < cluster.snapshot.pods.size(); ++id)
    everything.pods[{"default", cluster.snapshot.pods[id].name}] = id;
  const double first = milliseconds_of([&] { entry = maker.make(cycle, everything); });
  advance(record, std::move(entry));
  std::string body;
  const double written = milliseconds_of([&] { body = block_text({1, true, whole(record)}); });
  fmt::print(
      "{:>6} pods placed: schedule() {:>7.2f} ms, recording {:>6.2f} ms ({:>4.1f} % of it, {} KiB); "
      "the first time {:>6.1f} ms; a new file, on the log's thread {:>6.1f} ms ({:.1f} MiB)\n",
      plan.tickets.size(), planned, recorded, 100 * recorded / planned, bytes / 1024, first, written,
      static_cast<double>(body.size()) / (1 << 20));
}

}  // namespace
}  // namespace gangway::scheduler::flight

int main() {
  for (const int waiting : {1, 10, 100, 1000, 10'000}) gangway::scheduler::flight::measure(waiting);
}
