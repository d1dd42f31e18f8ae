#include "agent/agent.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/pod/devices.h"
#include "agent/pod/status.h"
#include "client/resource.h"
#include "sys/log.h"

namespace gangway::agent {
namespace {

// So many looks, then others may use the loop.
constexpr int kLooksPerTurn = 64;
constexpr Duration kSaveAgain = std::chrono::seconds(5);

bool is_routine(const PodEvent& event) {
  return !event.warning && event.reason != "DeadlineExceeded";
}

}  // namespace

Agent::Agent(AgentParts parts, std::vector<AgentNode> nodes, AgentOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      specs_(!parts_.runtime.is_simulated()),
      queue_(parts_.loop, {}, [this] { pump(); }),
      statuses_(parts_.loop, options_.status,
                [this](const std::string& uid, api::Revision revision) { on_delivered(uid, revision); }),
      probes_(
          parts_.loop, parts_.checks,
          [this](const ContainerId& container, ProbeFacts facts) { note_probes(container, std::move(facts)); },
          [this](const ContainerId& container, ProbeKind kind, const std::string& message) {
            tell_unhealthy(container, kind, message);
          }) {
  std::map<client::ApiClient*, std::shared_ptr<client::EventWriter>> writers;
  for (AgentNode& node : nodes) {
    NodeState& state = nodes_[node.facts.name];
    auto& writer = writers[node.client];
    if (!writer) writer = std::make_shared<client::EventWriter>(*node.client, parts_.loop, "kubelet");
    state.events = writer;
    informers_.insert(node.pods);
    state.node = std::move(node);
  }
}

Agent::~Agent() = default;

// ── what was there before ──

Result<void> Agent::start() {
  GW_TRY(auto records, parts_.records.load());
  for (PodRecord& record : records) {
    Worker& worker = worker_of(record.pod.uid, record.pod.node);
    worker.record = std::move(record);
    if (const auto node = nodes_.find(worker.record.pod.node); node != nodes_.end())
      count(node->second, worker.record, 1);
  }
  for (client::Informer* informer : informers_) {
    subscriptions_.push_back(informer->subscribe({
        .on_change = [this](const client::ObjectChange& change) { on_change(change); },
        .on_progress = [this, informer] { on_progress(informer); },
    }));
  }
  if (!parts_.runtime.is_simulated()) read_reports();
  return {};
}

// Programs write files and tell nobody. There are as many as containers that run: a few system calls each.
void Agent::read_reports() {
  for (auto& [uid, worker] : workers_) read_report(uid, worker, worker.reported);
  parts_.loop.run_after(options_.report_period, [this, life = std::weak_ptr(life_)] {
    if (!life.expired()) read_reports();
  });
}

void Agent::read_report(const std::string& uid, Worker& worker, std::optional<MonoTime> told_at) {
  if (!worker.record.sandbox_ready) return;
  const MonoTime now = parts_.loop.clock().mono();
  PodReport report = brought_up_to(worker.facts.report, parts_.runtime.report(uid));
  if (!is_worth_telling(worker.facts.report, report, told_at ? now - *told_at : kTellProgressEvery)) return;
  worker.facts.report = std::move(report);
  worker.reported = now;
  look_at(uid);
}

void Agent::on_progress(const client::Informer* informer) {
  if (!recovered_) return recover_when_listed();
  if (unlisted_ && is_listed()) end_unlisted();
  end_fences(informer);
}

bool Agent::is_listed() const {
  return std::all_of(informers_.begin(), informers_.end(),
                     [](const client::Informer* informer) { return informer->has_synced(); });
}

void Agent::recover_when_listed() {
  if (is_listed()) recover();
}

void Agent::recover() {
  if (std::exchange(recovering_, true)) return;
  if (parts_.runtime.is_simulated()) recover_from_status();
  parts_.runtime.recover(*this, [this, life = std::weak_ptr(life_)](Result<Found> found) {
    if (!life.expired()) recovered(std::move(found));
  });
}

// In the order in which they were started, so that devices go to the same pods whoever asks first.
void Agent::recover_from_status() {
  std::vector<Worker*> found;
  for (auto& [uid, worker] : workers_) {
    if (worker.record.judged || !worker.version) continue;
    const auto spec = specs_.get(worker.version);
    const auto tree = json::parse(*worker.version.json);
    if (!spec || !tree) continue;
    auto record = record_from_status(*tree, spec->pod, "simulated");
    if (!record) continue;
    if (spec->has_ended) {
      if (parts_.adopt) parts_.adopt(*spec, *record);
      continue;
    }
    worker.record = std::move(*record);
    found.push_back(&worker);
  }
  std::sort(found.begin(), found.end(), [](const Worker* a, const Worker* b) {
    return std::tie(a->record.started_at, a->record.pod.uid) < std::tie(b->record.started_at, b->record.pod.uid);
  });
  for (Worker* worker : found) {
    const auto node = nodes_.find(worker->record.pod.node);
    const auto spec = specs_.get(worker->version);
    if (node == nodes_.end() || !spec) continue;
    if (auto gpus = assign_gpus(*spec, node->second.node.facts.gpus, node->second.gpus_in_use))
      worker->record.gpus = std::move(*gpus);
    count(node->second, worker->record, 1);
    if (parts_.adopt) parts_.adopt(*spec, worker->record);
  }
}

void Agent::recovered(Result<Found> found) {
  if (!found) {
    sys::log_error("the runtime cannot say what runs; asking again", {{"error", found.error().message}});
    problem_ = "the container runtime does not work: " + found.error().message;
    if (parts_.on_recovered) parts_.on_recovered();
    parts_.loop.run_after(kSaveAgain, [this, life = std::weak_ptr(life_)] {
      if (life.expired()) return;
      recovering_ = false;
      recover();
    });
    return;
  }
  const WallTime now = parts_.loop.clock().wall();
  // Told by pod: a look through all that was found for each of 50,000 pods would be one too many.
  std::unordered_map<std::string, Found> by_pod;
  for (FoundContainer& container : found->containers)
    by_pod[container.id.pod_uid].containers.push_back(std::move(container));
  for (auto& [uid, sandbox] : found->sandboxes) by_pod[uid].sandboxes.emplace(uid, std::move(sandbox));
  for (auto& [uid, worker] : workers_) {
    if (!worker.record.judged) continue;
    const PodRecord before = worker.record;
    adopt(worker.record, by_pod[uid], now);
    worker.dirty = worker.dirty || before != worker.record;
    by_pod.erase(uid);
  }
  unlisted_ = true;
  if (is_listed()) end_unlisted();
  for (const auto& [uid, orphan] : by_pod) adopt_orphans(orphan);
  recovered_ = true;
  if (parts_.on_recovered) parts_.on_recovered();
  for (const auto& [uid, worker] : workers_) queue_.add(worker_key(uid));
}

// What is in no list has no object any more.
void Agent::end_unlisted() {
  unlisted_ = false;
  for (auto& [uid, worker] : workers_) {
    if (worker.version || !worker.record.judged) continue;
    worker.gone = true;
    if (recovered_) look_at(uid);
  }
}

// Containers that no record knows are nobody's: they end.
void Agent::adopt_orphans(const Found& found) {
  for (const auto& [uid, sandbox] : found.sandboxes) {
    Worker& worker = worker_of(uid, {});
    worker.gone = true;
    worker.record.pod.uid = uid;
    worker.record.judged = true;
    worker.record.has_sandbox = true;
  }
  for (const FoundContainer& container : found.containers) {
    Worker& worker = worker_of(container.id.pod_uid, {});
    worker.gone = true;
    worker.record.pod.uid = container.id.pod_uid;
    worker.record.judged = true;
    ContainerRecord& record = worker.record.containers.emplace_back();
    record.name = container.id.container;
    record.attempt = container.id.attempt;
    record.stage = container.running ? ContainerRecord::Stage::kRunning : ContainerRecord::Stage::kExited;
    if (container.exited) record.end = RunEnd{record.attempt, *container.exited, {}};
  }
}

// ── what happens ──

Agent::Worker& Agent::worker_of(const std::string& uid, const std::string& node) {
  Worker& worker = workers_[uid];
  if (const auto at = nodes_.find(node); at != nodes_.end()) at->second.pods.insert(uid);
  return worker;
}

void Agent::on_change(const client::ObjectChange& change) {
  const std::string node(change.now.header->field("spec.nodeName"));
  if (!nodes_.contains(node)) return;
  const std::string& uid = change.now.header->uid;
  const bool deleted = change.type == client::ObjectChange::Type::kDeleted;
  if (deleted && !workers_.contains(uid)) return;
  Worker& worker = worker_of(uid, node);
  worker.version = change.now;
  worker.gone = deleted;
  if (!statuses_.is_pending(uid)) doubt_status(worker);
  // Also when it shows the revision of our last write: a write that changes nothing is answered with somebody else's.
  if (recovered_) queue_.add(worker_key(uid));
}

void Agent::on_delivered(const std::string& uid, api::Revision revision) {
  const auto at = workers_.find(uid);
  if (at == workers_.end()) return;
  at->second.delivered = revision;
  if (doubt_status(at->second)) look_at(uid);
}

// Others write statuses, too: a node that seems lost has its pods called not ready. What was changed after our last
// write is told again.
bool Agent::doubt_status(Worker& worker) {
  if (!worker.version || worker.version.header->revision <= worker.delivered) return false;
  worker.status = 0;
  return true;
}

// The last words of a program count most: what it has saved before it was made to go.
void Agent::on_exit(const ContainerId& container, const Exit& exit) {
  if (const auto at = workers_.find(container.pod_uid); at != workers_.end())
    read_report(container.pod_uid, at->second, {});
  settle(container.pod_uid, ContainerExited{container, exit});
}

void Agent::look_at(const std::string& pod_uid) {
  if (recovered_ && workers_.contains(pod_uid)) queue_.add(worker_key(pod_uid));
}

void Agent::note_probes(const ContainerId& container, ProbeFacts facts) {
  const auto at = workers_.find(container.pod_uid);
  if (at == workers_.end()) return;
  facts.attempt = container.attempt;
  at->second.facts.containers[container.container].probes = std::move(facts);
  look_at(container.pod_uid);
}

void Agent::tell_unhealthy(const ContainerId& container, ProbeKind kind, const std::string& message) {
  const auto at = workers_.find(container.pod_uid);
  if (at == workers_.end()) return;
  const auto node = nodes_.find(at->second.record.pod.node);
  if (node == nodes_.end()) return;
  PodEvent event{true, "Unhealthy", fmt::format("{} probe failed: {}", to_string(kind), message), container.container,
                 false};
  tell(node->second, at->second, event);
}

void Agent::set_halt(const std::string& node, Halt halt) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end() || at->second.halt == halt) return;
  NodeState& state = at->second;
  if (state.halt == Halt::kFenced && halt == Halt::kNone) return lift_fence(state);
  state.halt = halt;
  await_list_.erase(node);
  // Whoever must stop its pods cannot wait for a server to say which they are: the records know.
  if (halt == Halt::kFenced && !recovered_ && !parts_.runtime.is_simulated()) recover();
  for (const std::string& uid : state.pods) look_at(uid);
}

void Agent::lift_fence(NodeState& node) {
  if (!await_list_.insert(node.node.facts.name).second) return;
  node.node.pods->stop();
  node.node.pods->start();
}

// An informer that was stopped makes progress only by a list.
void Agent::end_fences(const client::Informer* informer) {
  for (auto at = await_list_.begin(); at != await_list_.end();) {
    NodeState& state = nodes_.at(*at);
    if (state.node.pods != informer) {
      ++at;
      continue;
    }
    at = await_list_.erase(at);
    state.halt = Halt::kNone;
    for (const std::string& uid : state.pods) look_at(uid);
  }
}

void Agent::visit(const std::function<void(const PodRecord&, const api::Version&)>& see) const {
  for (const auto& [uid, worker] : workers_) see(worker.record, worker.version);
}

bool Agent::is_quiet() const {
  return std::none_of(workers_.begin(), workers_.end(), [](const auto& entry) {
    return entry.second.record.any_alive() || entry.second.record.has_sandbox;
  });
}

// ── looking ──

void Agent::pump() {
  if (!recovered_) return;
  for (int i = 0; i < kLooksPerTurn; ++i) {
    const auto key = queue_.take();
    if (!key) return;
    queue_.done(*key);
    look(key->object.name);
  }
  parts_.loop.post([this, life = std::weak_ptr(life_)] {
    if (!life.expired()) pump();
  });
}

NodeRoom Agent::room_of(const NodeState& node) const {
  NodeRoom room;
  room.allocatable = node.node.facts.allocatable;
  room.used = node.used;
  room.gpus = node.node.facts.gpus;
  room.gpus_in_use = node.gpus_in_use;
  if (parts_.node_header) room.node = parts_.node_header(node.node.facts.name);
  return room;
}

void Agent::count(NodeState& node, const PodRecord& record, int sign) {
  if (!record.takes_room()) return;
  for (const auto& [name, amount] : record.requests) node.used[name] += sign * amount;
  for (const auto& [container, indexes] : record.gpus) {
    for (const unsigned index : indexes) {
      if (sign > 0) {
        node.gpus_in_use.insert(index);
      } else {
        node.gpus_in_use.erase(index);
      }
    }
  }
}

void Agent::look(const std::string& uid) {
  const auto at = workers_.find(uid);
  if (at == workers_.end()) return;
  Worker& worker = at->second;
  const auto spec = worker.version ? specs_.get(worker.version) : nullptr;
  // Records and containers that belong to no node of ours are brought to an end as well.
  static const NodeFacts nowhere;
  const auto own = nodes_.find(spec ? spec->pod.node : worker.record.pod.node);
  NodeState* node = own == nodes_.end() ? nullptr : &own->second;
  const NodeRoom room = node != nullptr && !worker.record.judged ? room_of(*node) : NodeRoom();
  const WallTime now = parts_.loop.clock().wall();
  PodStep step = decide({.spec = spec.get(),
                         .gone = worker.gone,
                         .record = worker.record,
                         .facts = worker.facts,
                         .node = node != nullptr ? node->node.facts : nowhere,
                         .room = room,
                         .references = parts_.references,
                         .halt = node != nullptr ? node->halt : Halt::kNone,
                         .now = now});
  if (step.forget) return forget(uid);
  if (!save(worker, step)) return queue_.add_after(worker_key(uid), kSaveAgain);
  if (node != nullptr) {
    count(*node, worker.record, -1);
    count(*node, step.record, 1);
  }
  worker.record = std::move(step.record);
  worker.facts = std::move(step.facts);
  if (node != nullptr) {
    for (const PodEvent& event : step.events) tell(*node, worker, event);
  }
  if (spec != nullptr) {
    parts_.references.hold(*spec);
    probes_.tend(*spec, worker.record);
  }
  const bool busy = !step.commands.empty();
  for (PlannedCommand& command : step.commands) begin(uid, worker, std::move(command));
  if (node != nullptr) report(worker, step, *node);
  if (step.look_again_at) queue_.add_after(worker_key(uid), std::max(Duration::zero(), *step.look_again_at - now));
  if (!busy && worker.record.released) specs_.forget(uid);
}

// False when the record could not be made safe: nothing that it announces may happen.
bool Agent::save(Worker& worker, const PodStep& step) {
  if (!worker.dirty && step.record == worker.record) return true;
  if (auto saved = parts_.records.save(step.record); !saved) {
    sys::log_error("a pod's record cannot be written; it waits",
                   {{"pod", step.record.pod.name}, {"error", saved.error().message}});
    return false;
  }
  worker.dirty = false;
  return true;
}

// What the API has of a pod of which it is not known what was written: after a restart of the agent, all of it as a
// rule. What is still on its way would change it.
bool Agent::says_already(const Worker& worker, const json::Object& status) const {
  if (worker.status != 0 || !worker.version || statuses_.is_pending(worker.record.pod.uid)) return false;
  const auto tree = json::parse(*worker.version.json);
  return tree && has_status(*tree, status);
}

void Agent::report(Worker& worker, PodStep& step, const NodeState& node) {
  const PodIdentity& pod = worker.record.pod;
  if (step.status) {
    const bool known = says_already(worker, *step.status);
    std::string status = json::serialize(*step.status);
    const std::size_t hash = std::hash<std::string>()(status);
    if (worker.status != hash) {
      worker.status = hash;
      const api::Revision revision = worker.version ? worker.version.header->revision : 0;
      if (!known) {
        statuses_.write(*node.node.client, pod, std::move(status), worker.facts.under_way.empty(),
                        std::max(revision, worker.delivered));
      }
    }
  }
  if (step.delete_object) statuses_.remove(*node.node.client, pod);
}

void Agent::forget(const std::string& uid) {
  const auto at = workers_.find(uid);
  if (auto erased = parts_.records.erase(uid); !erased) {
    sys::log_error("a pod's record cannot be removed", {{"uid", uid}, {"error", erased.error().message}});
    return queue_.add_after(worker_key(uid), kSaveAgain);
  }
  const std::string node_name =
      at->second.version ? std::string(at->second.version.header->field("spec.nodeName")) : at->second.record.pod.node;
  if (const auto node = nodes_.find(node_name); node != nodes_.end()) {
    count(node->second, at->second.record, -1);
    node->second.pods.erase(uid);
  }
  statuses_.forget(uid);
  specs_.forget(uid);
  probes_.forget(uid);
  parts_.references.release(uid);
  workers_.erase(at);
}

void Agent::tell(NodeState& node, const Worker& worker, const PodEvent& event) {
  if (!options_.routine_events && is_routine(event)) return;
  const PodIdentity& pod = worker.record.pod;
  client::Emit emit;
  emit.about = {"v1", "Pod", {pod.ns, pod.name}, pod.uid, 0};
  if (worker.version) emit.about.revision = worker.version.header->revision;
  if (!event.container.empty())
    emit.about.field_path = fmt::format("spec.{}{{{}}}", event.init ? "initContainers" : "containers", event.container);
  emit.type = event.warning ? client::EventType::kWarning : client::EventType::kNormal;
  emit.reason = event.reason;
  emit.message = event.message;
  node.events->write(emit);
}

}  // namespace gangway::agent
