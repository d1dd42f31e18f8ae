#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gangway::sim {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kLongestChaos = hours(4);
constexpr Duration kLongestSettling = hours(4);
// So long without a write counts as rest: longer than any back-off, than the latest event on its way, and than any
// clock runs ahead.
constexpr Duration kRest = minutes(10);
// So long after a preemption its victim may have to be left alone, wrong clocks included: who waits for that is not at
// rest.
constexpr Duration kPeace = minutes(70);
// Far more than any sound run takes. One that goes on for longer goes in circles.
constexpr std::uint64_t kMostSteps = 5'000'000;
constexpr std::uint64_t kMostStepsOfAJob = 200'000;
// Each of so many users of a cluster that is made for training has as many jobs.
constexpr std::int64_t kTrainingUsers = 5;

std::vector<agent::NodeSpec> some_nodes(testing::Random& random, std::int64_t count) {
  std::vector<agent::NodeSpec> nodes;
  for (std::int64_t i = 0; i < count; ++i) {
    agent::NodeSpec node;
    node.name = fmt::format("node-{}", i);
    node.capacity = {{"cpu", Quantity::of(random.between(4, 12))},
                     {"memory", Quantity::parse("32Gi").value()},
                     {"nvidia.com/gpu", Quantity::of(random.between(0, 4))}};
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::unique_ptr<Workload> a_workload(User& user, testing::Random& random) {
  switch (random.below(12)) {
    case 0:
    case 1:
      return configuration_workload(user);
    case 2:
    case 3:
      return pod_workload(user);
    case 4:
    case 5:
      return job_workload(user);
    case 6:
    case 7:
      return set_workload(user);
    case 8:
    case 9:
      return priority_workload(user);
    default:
      return gang_workload(user);
  }
}

store::WatchLimits some_watch_limits(testing::Random& random) {
  // Short logs forget quickly: who lags behind gets 410 in earnest.
  const std::vector<std::size_t> lengths = {20, 200, 10'000};
  store::WatchLimits limits;
  limits.max_changes = random.pick(lengths);
  return limits;
}

}  // namespace

World::World(const WorldOptions& options)
    : most_steps_(kMostSteps + static_cast<std::uint64_t>(options.training_jobs) * kMostStepsOfAJob),
      simulation_(options.seed),
      faults_(simulation_),
      entropy_(simulation_.random().fork("entropy")),
      wire_(simulation_, faults_),
      audit_(simulation_, laws()) {
  wire_.on_nonsense([this](std::string what) { broken(std::move(what)); });
  if (options.show) simulation_.trace().show_to(options.show);
  auto& random = simulation_.random();
  simulation_.set_longest_task(microseconds(random.pick(std::vector<int>{1, 10, 100})));
  const auto limits = some_watch_limits(random);
  if (random.below(4) == 0) {
    medium_ = std::make_unique<DiskMedium>(simulation_, faults_, limits);
  } else {
    medium_ = std::make_unique<MemoryMedium>(simulation_, limits);
  }
  nodes_ = some_nodes(random, options.training_jobs > 0 ? random.between(8, 16) : random.between(1, 4));
  std::vector<agent::NodeSpec> machines;
  for (const auto& node : nodes_) (random.below(3) == 0 ? simulated_nodes_ : machines).push_back(node);
  hosts_ = std::make_unique<Hosts>(wire_, gate_, running_, machines);
  if (options.training_jobs > 0) {
    add_training(options.training_jobs);
  } else {
    add_workloads();
  }
  if (random.below(3) != 0) return;
  std::vector<std::string> names;
  for (const auto& node : nodes_) names.push_back(node.name);
  workloads_.push_back(operator_workload(add_user("operator"), std::move(names)));
}

void World::add_workloads() {
  auto& random = simulation_.random();
  const auto users = random.between(1, 3);
  for (std::int64_t i = 0; i < users; ++i)
    workloads_.push_back(a_workload(add_user(fmt::format("user-{}", i)), random));
  if (random.fork("training").below(4) == 0) workloads_.push_back(training_workload(add_user("trainer")));
}

void World::add_training(std::int64_t jobs) {
  faults_.set_most_kills(static_cast<unsigned>(8 + jobs / 10));
  for (std::int64_t i = 0; i < kTrainingUsers; ++i) {
    const auto share = (jobs + i) / kTrainingUsers;
    if (share > 0) workloads_.push_back(training_workload(add_user(fmt::format("trainer-{}", i)), share));
  }
}

std::vector<std::unique_ptr<Law>> World::laws() {
  auto laws = all_laws([this] { return simulation_.now(); });
  laws.push_back(what_is_over_runs_nowhere(running_));
  return laws;
}

User& World::add_user(const std::string& name) {
  users_.push_back(std::make_unique<User>(wire_, gate_, name, [this](std::string what) { broken(std::move(what)); }));
  return *users_.back();
}

World::~World() {
  hosts_.reset();
  simulated_.reset();
  control_.reset();
  server_.reset();
}

void World::start_server() {
  server_is_ready_ = false;
  server_ = std::make_unique<ServerLife>(ServerLife::Parts{wire_, gate_, *medium_, entropy_}, ++lives_, [this] {
    server_is_ready_ = true;
    start_control();
    start_simulated();
  });
  if (server_->store() == nullptr) return;
  audit_.begin(*server_->store());
  // Hooks run in the order they were made: by now the audit has seen all that the medium kept.
  server_->process().on_kill([this] {
    audit_.killed();
    if (control_) control_->process().kill();
    if (simulated_) simulated_->process().kill();
  });
}

void World::start_control() {
  if (control_ || !server_ || !server_is_ready_) return;
  control_ = std::make_unique<ControlLife>(wire_, gate_, *server_, ++lives_, nodes_);
}

void World::start_simulated() {
  if (simulated_ || !server_ || !server_is_ready_) return;
  simulated_ = std::make_unique<SimulatedLife>(wire_, gate_, ++lives_, simulated_nodes_);
}

bool World::failed() const {
  return !broken_.empty() || !audit_.verdicts().empty() || hosts_->broken() != nullptr;
}

bool World::is_complete() const {
  return server_is_ready_ && control_ && simulated_ && hosts_->are_all_up();
}

void World::after_step() {
  audit_.observe();
  if (server_) {
    faults_.kills("crash.server", server_->process(), 300);
    if (!medium_->has_power()) server_->process().kill();
  }
  if (control_) faults_.kills("crash.control", control_->process(), 300);
  if (simulated_) faults_.kills("crash.simulated", simulated_->process(), 200);
  hosts_->after_step();
  bury();
}

// Objects go between steps, when none of their tasks runs; the control plane first, because it refers to the server.
void World::bury() {
  auto& random = simulation_.random();
  const auto pause = faults_.are_stopped() ? Duration(seconds(1)) : random.up_to(seconds(30));
  const bool server_died = server_ && !server_->process().is_alive();
  if (control_ && !control_->process().is_alive()) {
    control_.reset();
    if (!server_died) wire_.loop().run_after(pause, [this] { start_control(); });
  }
  if (simulated_ && !simulated_->process().is_alive()) {
    simulated_.reset();
    if (!server_died) wire_.loop().run_after(pause, [this] { start_simulated(); });
  }
  if (!server_died) return;
  server_.reset();
  server_is_ready_ = false;
  wire_.loop().run_after(pause, [this] { start_server(); });
}

bool World::run_until(const std::function<bool()>& done, Duration at_most) {
  const auto end = simulation_.now() + at_most;
  while (!failed() && !done()) {
    if (simulation_.steps() >= most_steps_) {
      broken(fmt::format("no rest in {} steps; last write: {}", most_steps_, audit_.last_write()));
      break;
    }
    if (!simulation_.step(end)) return done();
    after_step();
  }
  return !failed();
}

void World::run_for(Duration span) {
  static_cast<void>(run_until([] { return false; }, span));
}

// Whatever befalls whole machines: stalls and clocks that are set.
void World::weather() {
  if (faults_.are_stopped()) return;
  auto& random = simulation_.random();
  if (server_ && faults_.happens("pause.server", 200'000))
    server_->process().pause_until(simulation_.now() + random.up_to(seconds(20)));
  if (control_ && faults_.happens("pause.control", 200'000))
    control_->process().pause_until(simulation_.now() + random.up_to(minutes(2)));
  if (simulated_ && faults_.happens("pause.simulated", 200'000))
    simulated_->process().pause_until(simulation_.now() + random.up_to(minutes(2)));
  if (server_ && faults_.happens("clock.server", 100'000)) {
    const Duration ahead = random.between(-minutes(3), Duration(minutes(3)));
    server_->process().clock().set_ahead(ahead);
    if (control_) control_->process().clock().set_ahead(ahead);
    if (simulated_) simulated_->process().clock().set_ahead(ahead);
  }
  if (faults_.happens("disk.store_full", 100'000)) {
    medium_->set_full(true);
    wire_.loop().run_after(random.up_to(seconds(20)), [this] { medium_->set_full(false); });
  }
  hosts_->weather();
  wire_.loop().run_after(random.up_to(seconds(60)), [this] { weather(); });
}

void World::chaos() {
  workloads_left_ = workloads_.size();
  for (const auto& workload : workloads_) workload->start([this] { --workloads_left_; });
  weather();
  if (!run_until([this] { return workloads_left_ == 0; }, kLongestChaos) && !failed())
    broken("users were not served in time");
  // Some troubles show only when they last: a node that is alone for long, with pods on it that nobody touches.
  auto& random = simulation_.random();
  if (random.below(4) == 0) run_for(random.up_to(minutes(40)));
}

void World::settle() {
  simulation_.note("world", "fair weather");
  faults_.stop();
  hosts_->begin_fair_weather();
  // What was cut off or stalled may not have had a chance to write before.
  const auto began = simulation_.now();
  const auto at_rest = [this, began] {
    const auto now = simulation_.now();
    if (!is_complete() || now - std::max(audit_.last_busy(), began) <= kRest) return false;
    return !audit_.last_preemption() || now - *audit_.last_preemption() > kPeace;
  };
  if (!run_until(at_rest, kLongestSettling)) {
    if (!failed()) broken("no rest in four hours of fair weather; last write: " + audit_.last_write());
    return;
  }
  audit_.at_rest();
  Verdicts verdicts;
  for (const auto& workload : workloads_) workload->judge(*server_->store()->root(), verdicts);
  for (const auto& what : verdicts.all()) broken(what);
}

void World::quiet_hour() {
  const auto began = audit_.last_busy();
  // Most of an hour is heartbeats; every fourth seed sits through all of it.
  run_for(simulation_.random().below(4) == 0 ? Duration(hours(1)) : minutes(12));
  if (audit_.last_busy() != began) broken("somebody is restless; last write: " + audit_.last_write());
}

WorldReport World::report() const {
  WorldReport report;
  report.broken = audit_.verdicts().all();
  if (const auto* broken = hosts_->broken())
    report.broken.insert(report.broken.end(), broken->all().begin(), broken->all().end());
  report.broken.insert(report.broken.end(), broken_.begin(), broken_.end());
  report.steps = simulation_.steps();
  report.writes = audit_.writes();
  report.virtual_time = simulation_.now().time_since_epoch();
  report.sites = faults_.sites();
  return report;
}

WorldReport World::run() {
  start_server();
  bury();
  chaos();
  if (!failed()) settle();
  if (!failed()) quiet_hour();
  auto result = report();
  result.hash = simulation_.trace().hash();
  return result;
}

}  // namespace gangway::sim
