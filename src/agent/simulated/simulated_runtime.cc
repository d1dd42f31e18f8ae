#include "agent/simulated/simulated_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <optional>

#include "base/address.h"

namespace gangway::agent {
namespace {

constexpr const char* kDuration = "gangway.dev/simulated-duration";
constexpr const char* kExitCode = "gangway.dev/simulated-exit-code";
constexpr const char* kTermination = "gangway.dev/simulated-termination";
constexpr const char* kPeerLoss = "gangway.dev/simulated-peer-loss";

constexpr int kTerminated = 143;
constexpr int kKilled = 137;
constexpr int kPeerLost = 1;

// 100.64.0.0/10, which nobody else routes: simulated pods have addresses, and nothing answers there.
constexpr std::uint32_t kNetwork = (100U << 24) | (64U << 16);
constexpr std::uint32_t kHosts = 1U << 22;

constexpr const char* kNothingRuns = "the pods of this node are simulated: nothing runs in them";

std::optional<Duration> duration_in(const ContainerSpec& spec, const char* key) {
  const auto at = spec.annotations.find(key);
  if (at == spec.annotations.end()) return std::nullopt;
  const auto duration = parse_duration(at->second);
  return duration && *duration >= Duration::zero() ? std::optional(*duration) : std::nullopt;
}

int exit_code_in(const ContainerSpec& spec) {
  const auto at = spec.annotations.find(kExitCode);
  if (at == spec.annotations.end()) return 0;
  int code = 0;
  const std::string& text = at->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  const bool good = error == std::errc() && end == text.data() + text.size() && code >= 0 && code <= 255;
  return good ? code : 1;
}

// A session with nobody.
class NoSession final : public ExecSession {
 public:
  void write(std::string) override {}
  std::size_t unsent() const override { return 0; }
  void close_stdin() override {}
  void resize(std::uint16_t, std::uint16_t) override {}
  void pause(bool) override {}
  void kill() override {}
};

}  // namespace

SimulatedRuntime::SimulatedRuntime(sys::EventLoop& loop, std::map<std::string, std::string> node_addresses)
    : loop_(loop), node_addresses_(std::move(node_addresses)) {}

SimulatedRuntime::~SimulatedRuntime() {
  loop_.cancel(timer_);
}

template <class T>
void SimulatedRuntime::answer(sys::Completion<T> done, Result<T> result) {
  loop_.post([done = std::move(done), result = std::move(result)]() mutable { done(std::move(result)); });
}

// ── what was there before ──

void SimulatedRuntime::adopt_sandbox(const std::string& pod_uid, const std::vector<std::string>& addresses) {
  Pod& pod = pods_[pod_uid];
  if (addresses.empty()) return;
  pod.address = parse_v4(addresses.front()).value_or(0);
  addresses_.insert(pod.address);
}

void SimulatedRuntime::adopt_container(const ContainerSpec& spec, WallTime started_at) {
  add_run(spec, make_run(spec, started_at));
}

void SimulatedRuntime::adopt_failure(const std::string& gang, WallTime at) {
  if (!gang.empty()) failures_.emplace_back(gang, at);
}

void SimulatedRuntime::recover(RuntimeSink& sink, sys::Completion<Found> done) {
  sink_ = &sink;
  Found found;
  for (const auto& [uid, pod] : pods_) {
    if (pod.address != 0) found.sandboxes[uid].addresses = {v4_text(pod.address)};
    for (const Run& run : pod.runs)
      found.containers.push_back({{uid, run.container, run.attempt}, Started{0, run.started_at}, std::nullopt});
  }
  answer<Found>(std::move(done), std::move(found));
  loop_.post([this, life = std::weak_ptr(life_)] {
    if (life.expired()) return;
    for (const auto& [gang, at] : std::exchange(failures_, {})) lose_peer(gang, {}, at);
    arm();
  });
}

// ── sandboxes ──

std::uint32_t SimulatedRuntime::free_address() {
  while (true) {
    last_address_ = (last_address_ + 1) % kHosts;
    const std::uint32_t last_byte = last_address_ & 255;
    // Programs take addresses that end in .0 or .255 for networks and broadcasts.
    if (last_byte == 0 || last_byte == 255) continue;
    if (addresses_.insert(kNetwork | last_address_).second) return kNetwork | last_address_;
  }
}

void SimulatedRuntime::make_sandbox(SandboxSpec spec, sys::Completion<Sandbox> done) {
  Pod& pod = pods_[spec.pod.uid];
  const auto node = node_addresses_.find(spec.pod.node);
  if (spec.host_network && node != node_addresses_.end() && !node->second.empty())
    return answer<Sandbox>(std::move(done), Sandbox{{node->second}});
  if (pod.address == 0) pod.address = free_address();
  answer<Sandbox>(std::move(done), Sandbox{{v4_text(pod.address)}});
}

void SimulatedRuntime::remove_sandbox(const std::string& pod_uid, sys::Completion<void> done) {
  if (const auto at = pods_.find(pod_uid); at != pods_.end()) {
    addresses_.erase(at->second.address);
    drop_gang(pod_uid, at->second);
    for (const Run& run : at->second.runs) {
      if (run.ended) continue;
      --running_;
      deadlines_.erase({run.ends_at, {pod_uid, run.container, run.attempt}});
    }
    pods_.erase(at);
  }
  answer<void>(std::move(done), {});
}

void SimulatedRuntime::prepare_volume(VolumeSpec, sys::Completion<void> done) {
  answer<void>(std::move(done), {});
}

void SimulatedRuntime::remove_volumes(const std::string&, sys::Completion<void> done) {
  answer<void>(std::move(done), {});
}

void SimulatedRuntime::prepare_image(ImageRequest request, sys::Completion<Image> done) {
  Image image;
  image.id = request.image;
  image.message = fmt::format("Container image \"{}\" is simulated", request.image);
  answer<Image>(std::move(done), std::move(image));
}

// ── containers ──

SimulatedRuntime::Run* SimulatedRuntime::find(const ContainerId& id) {
  const auto pod = pods_.find(id.pod_uid);
  if (pod == pods_.end()) return nullptr;
  auto& runs = pod->second.runs;
  const auto at = std::find_if(runs.begin(), runs.end(), [&](const Run& run) {
    return run.container == id.container && run.attempt == id.attempt;
  });
  return at == runs.end() ? nullptr : &*at;
}

SimulatedRuntime::Run SimulatedRuntime::make_run(const ContainerSpec& spec, WallTime started_at) const {
  Run run;
  run.container = spec.id.container;
  run.attempt = spec.id.attempt;
  run.started_at = started_at;
  run.ends_at = WallTime::max();
  run.termination = duration_in(spec, kTermination).value_or(Duration::zero());
  if (spec.role == ContainerRole::kInit) {
    run.ends_at = started_at;
  } else if (spec.role == ContainerRole::kMain) {
    run.exit_code = exit_code_in(spec);
    if (const auto duration = duration_in(spec, kDuration)) run.ends_at = started_at + *duration;
    const auto peers = spec.annotations.find(kPeerLoss);
    run.fails_with_peers = peers != spec.annotations.end() && peers->second == "fail" && !spec.gang.empty();
  }
  return run;
}

void SimulatedRuntime::add_run(const ContainerSpec& spec, Run run) {
  Pod& pod = pods_[spec.id.pod_uid];
  pod.gang = spec.gang;
  if (run.fails_with_peers) gangs_[spec.gang].insert(spec.id.pod_uid);
  if (run.ends_at != WallTime::max()) deadlines_.emplace(run.ends_at, spec.id);
  pod.runs.push_back(std::move(run));
  ++running_;
}

void SimulatedRuntime::start(ContainerSpec spec, sys::Completion<Started> done) {
  const Run* known = find(spec.id);
  const WallTime at = known != nullptr ? known->started_at : loop_.clock().wall();
  if (known == nullptr) add_run(spec, make_run(spec, at));
  answer<Started>(std::move(done), Started{0, at});
  arm_later();
}

void SimulatedRuntime::signal(const ContainerId& container, int signal, sys::Completion<void> done) {
  if (Run* run = find(container); run != nullptr && !run->ended) {
    const bool kill = signal == SIGKILL;
    const WallTime when = loop_.clock().wall() + (kill ? Duration::zero() : run->termination);
    if (when < run->ends_at) end_at(container.pod_uid, *run, when, kill ? kKilled : kTerminated);
  }
  answer<void>(std::move(done), {});
  arm_later();
}

void SimulatedRuntime::remove(const ContainerId& container, sys::Completion<void> done) {
  if (const auto pod = pods_.find(container.pod_uid); pod != pods_.end()) {
    std::erase_if(pod->second.runs, [&](const Run& run) {
      return run.container == container.container && run.attempt == container.attempt && run.ended;
    });
  }
  answer<void>(std::move(done), {});
}

void SimulatedRuntime::end_at(const std::string& uid, Run& run, WallTime when, int code) {
  const ContainerId id{uid, run.container, run.attempt};
  deadlines_.erase({run.ends_at, id});
  run.ends_at = when;
  run.exit_code = code;
  deadlines_.emplace(when, id);
}

void SimulatedRuntime::end(const std::string& uid, Run& run, WallTime at) {
  run.ended = true;
  --running_;
  Exit exit;
  exit.code = run.exit_code;
  exit.started_at = run.started_at;
  exit.at = at;
  const ContainerId id{uid, run.container, run.attempt};
  if (exit.code != 0) lose_peer(pods_.at(uid).gang, uid, at);
  if (sink_ != nullptr) sink_->on_exit(id, exit);
}

// Those that were started after the loss are not of the gang that lost somebody.
void SimulatedRuntime::lose_peer(const std::string& gang, const std::string& lost_uid, WallTime at) {
  const auto members = gang.empty() ? gangs_.end() : gangs_.find(gang);
  if (members == gangs_.end()) return;
  for (const std::string& uid : members->second) {
    const auto pod = pods_.find(uid);
    if (uid == lost_uid || pod == pods_.end()) continue;
    for (Run& run : pod->second.runs) {
      if (run.fails_with_peers && !run.ended && run.started_at <= at && at < run.ends_at)
        end_at(uid, run, at, kPeerLost);
    }
  }
}

void SimulatedRuntime::drop_gang(const std::string& uid, const Pod& pod) {
  const auto members = gangs_.find(pod.gang);
  if (members == gangs_.end()) return;
  members->second.erase(uid);
  if (members->second.empty()) gangs_.erase(members);
}

// ── time ──

void SimulatedRuntime::arm() {
  if (deadlines_.empty()) return loop_.cancel(std::exchange(timer_, sys::TimerId::kNone));
  const WallTime next = deadlines_.begin()->first;
  if (timer_ != sys::TimerId::kNone && timer_at_ == next) return;
  loop_.cancel(timer_);
  timer_at_ = next;
  timer_ = loop_.run_after(std::max(Duration::zero(), next - loop_.clock().wall()), [this] { end_due(); });
}

// After the answers that are on their way: nobody hears of an end before the beginning.
void SimulatedRuntime::arm_later() {
  loop_.post([this, life = std::weak_ptr(life_)] {
    if (!life.expired()) arm();
  });
}

void SimulatedRuntime::end_due() {
  timer_ = sys::TimerId::kNone;
  const WallTime now = loop_.clock().wall();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto [at, id] = *deadlines_.begin();
    deadlines_.erase(deadlines_.begin());
    if (Run* run = find(id); run != nullptr && !run->ended) end(id.pod_uid, *run, at);
  }
  arm();
}

// ── what needs a process ──

std::shared_ptr<ExecSession> SimulatedRuntime::exec(ExecSpec, ExecCallbacks callbacks) {
  loop_.post([callbacks = std::move(callbacks)] {
    if (callbacks.on_failure) callbacks.on_failure(kNothingRuns);
  });
  return std::make_shared<NoSession>();
}

void SimulatedRuntime::connect(const std::string&, std::uint16_t, sys::Completion<int> done) {
  answer<int>(std::move(done), bad_request(kNothingRuns));
}

Result<Usage> SimulatedRuntime::usage(const ContainerId&) const {
  return bad_request(kNothingRuns);
}

}  // namespace gangway::agent
