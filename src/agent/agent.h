// Agent: the shell around the pods of one or more nodes. It looks at a pod when its object, its containers, its probes
// or the time say so (pod/machine.h decides), writes the record, begins the commands and carries the outcomes back.
//
//   informer of pods ─┐                   ┌─► Records, then Runtime ─► outcome ─┐
//   runtime's exits ──┼─► queue ─► look ──┼─► StatusWriter, EventWriter         │
//   timers ───────────┘    ▲              └─► look again at …                   │
//                          └────────────────────────────────────────────────────┘
//
// Nothing is looked at before the pods are listed, the records loaded and the runtime has said what it found: what is
// missing from a list that is not there yet is not gone. Belongs to one loop, on which everything happens.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/checks.h"
#include "agent/pod/machine.h"
#include "agent/probes.h"
#include "agent/records.h"
#include "agent/runtime.h"
#include "agent/spec_cache.h"
#include "agent/status_writer.h"
#include "client/event_writer.h"
#include "client/informer.h"
#include "client/work_queue.h"
#include "sys/event_loop.h"

namespace gangway::agent {

struct AgentNode {
  NodeFacts facts;
  client::ApiClient* client = nullptr;  // with the rights of this node
  client::Informer* pods = nullptr;     // that shows this node's pods, and maybe others; started by its owner
};

struct AgentOptions {
  // How often programs are asked what they have to tell.
  Duration report_period = std::chrono::seconds(2);
  // Pulled, Created, Started: five events a pod are too many for pods that only stand for others.
  bool routine_events = true;
  StatusWriter::Options status = {};
};

struct AgentParts {
  sys::EventLoop& loop;
  Runtime& runtime;
  Records& records;
  PodReferences& references;
  Checks& checks;
  // The header of a node's object, for selectors; null when it is not known.
  std::function<const api::Header*(const std::string& node)> node_header;
  // Pods whose status is their only record: called for each before the runtime recovers. May be empty.
  std::function<void(const PodSpec&, const PodRecord&)> adopt = {};
  // The runtime has said what it found, or why it cannot: is_running() and problem() have changed. May be empty.
  sys::Task on_recovered = {};
};

// What the work queue knows a pod by.
inline api::ObjectKey worker_key(const std::string& pod_uid) {
  return {"", {"", pod_uid}};
}

class Agent final : public RuntimeSink {
 public:
  Agent(AgentParts parts, std::vector<AgentNode> nodes, AgentOptions options);
  ~Agent() override;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // An error says which record cannot be read.
  Result<void> start();

  void on_exit(const ContainerId& container, const Exit& exit) override;
  // Something that the pod refers to has changed.
  void look_at(const std::string& pod_uid);
  // An order for all pods of a node; see Halt. A fence that is lifted holds until the pods have been listed anew: what
  // was given away meanwhile must not run again, not even for a moment.
  void set_halt(const std::string& node, Halt halt);

  bool is_running() const { return recovered_; }
  // Why it does not.
  const std::string& problem() const { return problem_; }
  std::size_t pods() const { return workers_.size(); }
  // No pod has a process.
  bool is_quiet() const;
  // And everything about them is told.
  bool is_settled() const { return is_quiet() && statuses_.pending() == 0; }
  // Every pod that it looks after: its record, and the newest object, which may be missing.
  void visit(const std::function<void(const PodRecord&, const api::Version&)>& see) const;

 private:
  struct NodeState {
    AgentNode node;
    api::Amounts used;
    std::set<unsigned> gpus_in_use;
    Halt halt = Halt::kNone;
    std::set<std::string> pods;                   // uids
    std::shared_ptr<client::EventWriter> events;  // shared by the nodes of one client
  };
  struct Worker {
    api::Version version;  // the newest that is known; empty when there is none
    bool gone = false;
    bool dirty = false;  // the record says more than was saved
    PodRecord record;
    PodFacts facts;
    std::size_t status = 0;            // hash of the last wish
    api::Revision delivered = 0;       // where the API has it
    std::optional<MonoTime> reported;  // when its program's report was last told
  };

  void on_change(const client::ObjectChange& change);
  void on_delivered(const std::string& uid, api::Revision revision);
  bool doubt_status(Worker& worker);
  void on_progress(const client::Informer* informer);
  bool is_listed() const;
  void recover_when_listed();
  void recover();
  void end_unlisted();
  void recover_from_status();
  void recovered(Result<Found> found);
  void adopt_orphans(const Found& found);
  Worker& worker_of(const std::string& uid, const std::string& node);

  void pump();
  void look(const std::string& uid);
  bool save(Worker& worker, const PodStep& step);
  void begin(const std::string& uid, Worker& worker, PlannedCommand command);
  bool says_already(const Worker& worker, const json::Object& status) const;
  void report(Worker& worker, PodStep& step, const NodeState& node);
  void forget(const std::string& uid);
  void settle(const std::string& uid, Outcome outcome);
  void tell(NodeState& node, const Worker& worker, const PodEvent& event);
  void note_probes(const ContainerId& container, ProbeFacts facts);
  void tell_unhealthy(const ContainerId& container, ProbeKind kind, const std::string& message);
  void lift_fence(NodeState& node);
  void read_reports();
  // `told_at`: when its progress was last told, or nothing to tell it in any case.
  void read_report(const std::string& uid, Worker& worker, std::optional<MonoTime> told_at);
  void end_fences(const client::Informer* informer);
  void count(NodeState& node, const PodRecord& record, int sign);
  NodeRoom room_of(const NodeState& node) const;
  template <class T>
  sys::Completion<T> completion(const std::string& uid, std::function<Outcome(Result<T>)> outcome);
  void run(const std::string& uid, const Worker& worker, Command command);
  void run_hook(const std::string& uid, const RunHook& hook);

  AgentParts parts_;
  AgentOptions options_;
  std::map<std::string, NodeState> nodes_;
  std::set<std::string> await_list_;                 // nodes, before their lifted fences count
  std::unordered_map<std::string, Worker> workers_;  // by uid
  SpecCache specs_;
  client::WorkQueue queue_;
  StatusWriter statuses_;
  Probes probes_;
  std::set<client::Informer*> informers_;
  std::vector<std::unique_ptr<sys::Subscription>> subscriptions_;
  std::string problem_ = "what runs here is not known yet";
  bool recovering_ = false;
  bool recovered_ = false;
  bool unlisted_ = false;  // it recovered without having heard from the server: who is gone is not known yet
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
