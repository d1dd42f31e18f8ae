// Candidate: one of several processes that may schedule for a cluster. While it leads, the Suite runs.
//
//   following ── the Lease is ours ──► leading: a mirror and a Suite of this term's own
//       ▲                                 │  the Lease is lost: both are dropped, late writes are the next leader's
//       └─────────────────────────────────┘  business (Fence)
//                                         │  hand_over(): nothing more is asked for ─► all answers are in ─► released
//                                         └─────────────► the next leader need not wait, and has nothing to fence
//
// Every term begins with lists of its own: what was there when it began is then in the mirror, which the fence needs,
// and nothing that an earlier term assumed is left. Runs on the client's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/api_client.h"
#include "client/drainable_client.h"
#include "client/leader_lease.h"
#include "scheduler/suite.h"
#include "scheduler/trouble_log.h"
#include "sys/event_loop.h"

namespace gangway::scheduler {

struct CandidateParts {
  client::ApiClient& client;
  sys::EventLoop& loop;
  client::LeaderLeaseOptions lease;  // on_trouble is the Candidate's own
  std::string scheduler_name = kName;
  // Who hears of what a term plans: a model of its own, so a listener of its own. None: nothing is recorded.
  std::function<std::unique_ptr<CycleSink>()> record = {};

  // What pods say in schedulerName, on a cluster that has other schedulers too.
  static constexpr const char* kName = "gangway";
};

class Candidate {
 public:
  explicit Candidate(CandidateParts parts);
  ~Candidate();
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  void start() { lease_.start(); }
  // Leads no more, at the latest after kLongestDrain; then `done`, once. Not to be started again.
  void hand_over(sys::Task done);

  bool is_leading() const { return term_ != nullptr; }
  std::int64_t epoch() const { return lease_.epoch(); }
  const std::string& leader() const { return lease_.holder(); }
  // It leads and has seen everything, or follows somebody.
  bool is_ready() const;
  // The controllers of the term; none while it follows.
  std::vector<const client::Controller*> controllers() const;

  static constexpr Duration kLongestDrain = std::chrono::seconds(5);

 private:
  struct Term;
  void begin_term();
  void end_term();
  void on_trouble(const Error& error);
  void drained(const sys::Task& done, bool in_time);

  CandidateParts parts_;
  TroubleLog troubles_;
  client::LeaderLease lease_;
  std::unique_ptr<Term> term_;
  sys::TimerId deadline_ = sys::TimerId::kNone;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::scheduler
