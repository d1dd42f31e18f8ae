// RayJobState: the objects of a RayJob as one look finds them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "client/view.h"
#include "jobs/ray_dashboard.h"
#include "jobs/ray_job.h"

namespace gangway::jobs {

// What hands the program over.
struct RaySubmitter {
  api::Version version;  // its Job; null: there is none
  bool is_of_attempt = false;
  bool is_running = false;
  bool has_succeeded = false;
  bool has_failed = false;
  std::string message;  // as its last condition says
  std::optional<WallTime> ended;

  bool has_ended() const { return has_succeeded || has_failed; }
};

struct RayJobState {
  RayJobState(const RayJob& job, const client::View& view);

  api::Version cluster;      // null: there is none of that name
  json::Value cluster_tree;  // as it is
  bool is_cluster_ready = false;
  bool has_all_pods = false;           // and all of them ready
  std::string preempted_pod;           // uid of one that has not gone yet
  std::optional<RayHeadAddress> head;  // of a head that runs
  bool is_simulated = false;           // nothing answers there
  RaySubmitter submitter;
};

}  // namespace gangway::jobs
