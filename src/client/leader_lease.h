// LeaderLease: one of several processes leads, by a Lease of coordination.k8s.io.
//
//   following ── the lease is free, ours, or not renewed for its duration ──► write it ──► leading
//       ▲                                                                                    │ renew every retry_every
//       └── another holds it, or it could not be renewed for renew_within: on_lost ◄─────────┘
//
// It fences nothing by itself: a leader that sleeps through its lease may still have writes on the way. Writes carry
// uid and resourceVersion for that. What another process's clock says does not count: a lease is stale when *we* have
// not seen it change for its duration. Every time somebody begins to lead is a term of its own, numbered by the lease.
// Runs on the client's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/api_client.h"
#include "json/value.h"
#include "sys/event_loop.h"

namespace gangway::client {

struct LeaderLeaseOptions {
  api::ObjectName lease;  // {"kube-system", "gangway-scheduler"}
  std::string identity;   // of this process; unique
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_within = std::chrono::seconds(10);
  Duration retry_every = std::chrono::seconds(2);
  // Nobody else can be there, since this process has the only store: the lease is taken whoever holds it, and needs no
  // renewal. It then only counts the terms.
  bool is_sole = false;
  // The first term begins at once, whoever holds the lease: he is taken for lost. After that it is as always.
  bool seizes = false;
  // Hears why an attempt came to nothing, each time; not that somebody else leads.
  std::function<void(const Error&)> on_trouble = {};
};

class LeaderLease {
 public:
  // Both run on the loop. on_lost comes once after each on_acquired, also from release().
  LeaderLease(ApiClient& client, sys::EventLoop& loop, LeaderLeaseOptions options, sys::Task on_acquired,
              sys::Task on_lost);
  ~LeaderLease();
  LeaderLease(const LeaderLease&) = delete;
  LeaderLease& operator=(const LeaderLease&) = delete;

  void start();
  // Gives the lease up, so that another need not wait for its end. `done` hears when that is written, or cannot be.
  // Requires: nothing that was decided in this term is on its way any more, since whoever follows does not look for it.
  void release(sys::Task done = {});
  // Leads no more, and leaves the lease to its end: whoever follows expects writes of ours that are still on the way.
  void abandon();

  bool is_leading() const { return leading_; }
  // Of the term that we lead in, or led in last: greater than those of all terms before it. 0 before the first.
  std::int64_t epoch() const { return epoch_; }
  // The revision of the write that began it.
  api::Revision term_began() const { return term_began_; }
  // Whether it began without the leader before having handed over: some of his writes may still be on the way.
  bool has_taken_over() const { return has_taken_over_; }
  // Who holds it, as far as is known; "" before the first answer.
  const std::string& holder() const { return holder_; }

 private:
  void attempt();
  void got(Result<api::Version> answer);
  void create();
  void write(const api::Version& known, json::Value lease);
  void written(Result<api::Version> answer);
  void begin_term();
  void lose();
  void check_deadline();
  void again();
  void again_after(const Error& trouble);
  bool is_stale(const api::Version& known, const json::Value& lease);
  json::Object spec(const json::Value* before) const;

  ApiClient& client_;
  sys::EventLoop& loop_;
  LeaderLeaseOptions options_;
  sys::Task on_acquired_;
  sys::Task on_lost_;
  bool running_ = false;
  bool leading_ = false;
  std::string holder_;
  std::int64_t epoch_ = 0;
  api::Revision term_began_ = 0;
  bool has_taken_over_ = false;
  api::Version held_;       // the lease as we wrote it last
  api::Revision seen_ = 0;  // the revision we saw last,
  MonoTime seen_at_;        // and since when
  MonoTime attempt_began_;
  MonoTime renewed_at_;  // when the request of our last successful write was sent
  sys::TimerId timer_ = sys::TimerId::kNone;
  sys::TimerId deadline_ = sys::TimerId::kNone;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::client
