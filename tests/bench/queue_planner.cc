// What one cycle of queueing costs: plan() alone, on 10 cohorts of 100 queues with 50 workloads each, whatever state
// they are in. The aim is 10 ms a cycle. Also what it costs to follow one change, and to check a plan.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "planning/queueing/cycle.h"
#include "planning/queueing/queues.h"
#include "planning/queueing/snapshot.h"
#include "planning/queueing/verify.h"

namespace gangway::planning::queueing {
namespace {

constexpr int kCohorts = 10;
constexpr int kQueuesEach = 100;
constexpr int kWorkloadsEach = 50;

class Cluster {
 public:
  Cluster() {
    snapshot.now = WallTime(std::chrono::seconds(1'700'000'000));
    snapshot.flavors.push_back({.name = "default"});
    for (int cohort = 0; cohort < kCohorts; ++cohort) {
      snapshot.cohorts.push_back({.name = fmt::format("cohort-{}", cohort)});
      for (int i = 0; i < kQueuesEach; ++i) {
        ClusterQueue queue{.name = fmt::format("queue-{}-{:03}", cohort, i), .cohort = static_cast<CohortId>(cohort)};
        queue.groups = {{.covered = {kCpu}, .flavors = {{0, {{.nominal = 20'000, .borrowing_limit = 100'000}}}}}};
        queue.preemption = {PreemptionPolicy::kLowerPriority, PreemptionPolicy::kAny, {}};
        snapshot.queues.push_back(std::move(queue));
      }
    }
  }

  std::shared_ptr<const PodShape> shape(std::int64_t cpus) {
    PodShape shape;
    shape.request = {{kCpu, cpus * 1000}, {kPods, 1}};
    return std::make_shared<const PodShape>(std::move(shape));
  }
  void add(QueueId queue, const char* kind, int count, const std::shared_ptr<const PodShape>& shape,
           std::int64_t priority, bool holds) {
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("{}-{:04}-{:03}", kind, queue, i);
      Workload workload{.ns = "default", .name = name, .uid = name, .queue = queue, .priority = priority};
      workload.queued = snapshot.now - std::chrono::seconds(1000 - i);
      workload.podsets = {{.name = "main", .shape = shape}};
      const std::int64_t cpus = shape->request.front().second;
      if (holds) workload.admission = {queue, {{1, {{0, kCpu, cpus}}}}, snapshot.now - std::chrono::seconds(i), false};
      snapshot.workloads.push_back(std::move(workload));
    }
  }

  Snapshot snapshot;
};

// Nothing runs; every head is admitted.
Cluster empty() {
  Cluster cluster;
  const auto one = cluster.shape(1);
  for (QueueId queue = 0; queue < cluster.snapshot.queues.size(); ++queue)
    cluster.add(queue, "small", kWorkloadsEach, one, 50, false);
  return cluster;
}

// All quota is in use, half of the queues have lent 5 to the others. Heads of `priority` ask for 20.
Cluster full(std::int64_t priority) {
  Cluster cluster;
  const auto one = cluster.shape(1);
  const auto twenty = cluster.shape(20);
  for (QueueId queue = 0; queue < cluster.snapshot.queues.size(); ++queue) {
    const int running = queue % 2 == 0 ? 25 : 15;
    cluster.add(queue, "small", running, one, 50, true);
    cluster.add(queue, "large", kWorkloadsEach - running, twenty, priority, false);
  }
  return cluster;
}

void run(benchmark::State& state, const Cluster& cluster, bool is_fair) {
  const Options options{.fair_sharing = is_fair};
  const Queues queues(cluster.snapshot);
  Plan made;
  for (auto _ : state) {
    made = plan(cluster.snapshot, queues, options);
    benchmark::DoNotOptimize(made);
  }
  const auto count = [&](Decision::Outcome outcome) {
    return static_cast<double>(std::count_if(made.decisions.begin(), made.decisions.end(),
                                             [&](const Decision& one) { return one.outcome == outcome; }));
  };
  std::size_t victims = 0;
  for (const Decision& decision : made.decisions) victims += decision.victims.size();
  state.counters["admitted"] = count(Decision::Outcome::kAdmit);
  state.counters["preempting"] = count(Decision::Outcome::kPreempt);
  state.counters["waiting"] = count(Decision::Outcome::kWait);
  state.counters["victims"] = static_cast<double>(victims);
}

void BM_AllAdmitted(benchmark::State& state) {
  run(state, empty(), state.range(0) != 0);
}
void BM_NobodyCanGo(benchmark::State& state) {
  run(state, full(10), state.range(0) != 0);
}
void BM_AllPreempt(benchmark::State& state) {
  run(state, full(200), state.range(0) != 0);
}

void BM_FollowOneChange(benchmark::State& state) {
  Cluster cluster = full(200);
  Queues queues(cluster.snapshot);
  WorkloadId next = 0;
  for (auto _ : state) {
    next = (next + 7919) % static_cast<WorkloadId>(cluster.snapshot.workloads.size());
    queues.put(cluster.snapshot, next);
  }
}

void BM_Rebuild(benchmark::State& state) {
  const Cluster cluster = full(200);
  for (auto _ : state) benchmark::DoNotOptimize(Queues(cluster.snapshot));
}

void BM_Verify(benchmark::State& state) {
  const Cluster cluster = full(200);
  const Plan made = plan(cluster.snapshot, {});
  for (auto _ : state) benchmark::DoNotOptimize(verify(cluster.snapshot, {}, made));
}

BENCHMARK(BM_AllAdmitted)->Arg(0)->Arg(1)->ArgName("fair")->Unit(benchmark::kMillisecond);
BENCHMARK(BM_NobodyCanGo)->Arg(0)->Arg(1)->ArgName("fair")->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AllPreempt)->Arg(0)->Arg(1)->ArgName("fair")->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FollowOneChange)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Rebuild)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Verify)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gangway::planning::queueing

BENCHMARK_MAIN();
