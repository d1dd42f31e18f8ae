// Suite: the scheduler, the requeuer and the accountant as controllers on one mirror. Wired once, for the embedded
// server and for any other.
//
// It decides neither who leads nor who it writes as: whoever makes it has the Lease and the clients. Lives on the loop
// of the mirror's client.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/api_client.h"
#include "client/controller.h"
#include "client/leader_lease.h"
#include "client/mirror.h"
#include "scheduler/accountant.h"
#include "scheduler/cycle_sink.h"
#include "scheduler/requeuer.h"
#include "scheduler/scheduler.h"

namespace gangway::scheduler {

struct SuiteParts {
  sys::EventLoop& loop;
  client::Mirror& mirror;
  // The way to the API for the controller of a name.
  std::function<std::unique_ptr<client::ApiClient>(const std::string& controller)> connect;
  std::string scheduler_name = Scheduler::kDefaultName;  // whose pods are placed; also its controller's name
  volumes::ClaimBinding claims = volumes::ClaimBinding::kFollowsPods;
  CycleSink* cycles = nullptr;                     // outlives the suite; none: nothing is recorded
  client::ControllerObserver* observer = nullptr;  // likewise
};

class Suite {
 public:
  explicit Suite(const SuiteParts& parts);

  // Begins to place pods, in the term that the lease has just begun. Requires, where the leader before was lost: what
  // was there when the term began is in the mirror when its first lists are.
  void schedule(const client::LeaderLease& term);

  client::Controller& scheduling() { return *members_[0].controller; }
  client::Controller& requeueing() { return *members_[1].controller; }
  client::Controller& accounting() { return *members_[2].controller; }
  std::vector<const client::Controller*> controllers() const;

  static constexpr const char* kRequeueing = "requeue-controller";
  static constexpr const char* kAccounting = "usage-controller";

 private:
  struct Member {
    std::unique_ptr<client::ApiClient> client;
    std::unique_ptr<client::Controller> controller;
  };
  Member member(const SuiteParts& parts, client::ControllerOptions options, const client::Reconciler& mind);

  Scheduler scheduler_;
  Requeuer requeuer_;
  Accountant accountant_;
  std::vector<Member> members_;
};

// For one whose keys are many pods each: it may have no rest for a long time and fights nobody, and one pod that cannot
// be helped must not keep the others waiting.
client::ControllerOptions busy_controller(std::string name);

// The Lease whose terms number the grants (Allotment.spec.epoch).
inline constexpr const char* kLeaseName = "gangway-scheduler";

}  // namespace gangway::scheduler
