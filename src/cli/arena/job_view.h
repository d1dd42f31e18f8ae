// Training jobs as users see them: one truthful status each, from the job and its pods. Pure.
//
//   PENDING ──► RUNNING ──► SUCCEEDED | FAILED
//      ▲  └──────► │
//   QUEUING ◄──────┘ preempted and coming back, or waiting in a queue      SUSPENDED: by somebody's word
//
// A job with at least its minimum of pods running is RUNNING, whatever its own conditions still say; one whose pods do
// not run is not. Jobs made with kubectl are jobs like any others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/arena/job_roles.h"
#include "cli/arena/job_type.h"
#include "cli/arena/progress.h"
#include "client/api_client.h"
#include "json/value.h"

namespace gangway::cli::arena {

struct Instance {
  std::string name;
  std::string role;
  std::string phase;   // "Running"
  std::string status;  // as kubectl has it: "ContainerCreating", "CrashLoopBackOff"
  std::string node;
  std::string node_ip;
  std::string ip;
  std::string uid;
  std::int64_t gpus = 0;
  std::int64_t attempt = 1;
  WallTime created = {};
  bool is_chief = false;
  bool is_ending = false;
  bool holds_gpus = false;    // bound and not over: its devices are nobody else's
  std::string waits_because;  // the scheduler's words
  std::optional<Progress> progress;
  std::optional<Checkpoint> checkpoint;
};

struct JobView {
  JobType type = JobType::kMpi;
  client::Resource resource;
  json::Value object;
  std::string ns, name, uid;
  std::string status = "PENDING";
  std::string reason;   // one word: "Unschedulable", "Preempted", "Suspended"
  std::string message;  // a sentence, where there is more to say
  std::string priority;
  WallTime created = {};
  std::optional<WallTime> ended = {};
  Duration duration = {};
  std::vector<Instance> instances;  // the chief first
  std::int64_t requested_gpus = 0;
  std::int64_t allocated_gpus = 0;
  std::int64_t desired = 0;  // pods
  std::int64_t running = 0;
  std::int64_t done = 0;  // pods that have ended well
  std::int64_t attempt = 1;
  std::string tensorboard;                // where it is, when it is
  std::optional<Progress> progress;       // of the instance that speaks for it, or of the first that reports
  std::optional<Checkpoint> checkpoint;   // the last of all
  std::optional<WallTime> estimated_end;  // while it runs, and that can be said

  // Runs, and could use more pods than it has.
  bool lacks_pods() const { return status == "RUNNING" && running + done < desired; }
  bool is_over() const { return status == "SUCCEEDED" || status == "FAILED"; }
  const Instance* chief() const;
};

// What was read of a cluster, one list a kind.
struct ReadObjects {
  struct Jobs {
    client::Resource resource;
    std::vector<json::Value> items;
    std::string_view kind = {};  // of job_kinds()
  };
  std::vector<Jobs> jobs;
  std::vector<json::Value> pods;
  std::vector<json::Value> requeued_pods;
  std::vector<json::Value> events;           // of preemptions
  std::vector<json::Value> services, nodes;  // for TensorBoard
};

// Newest first. Objects move into their views.
std::vector<JobView> view_jobs(ReadObjects objects, WallTime now);

// The pod of a job that an event or a pod of this name is about, going by the name alone.
bool is_named_after(std::string_view job, std::string_view pod);

}  // namespace gangway::cli::arena
