// KubeflowStatus: the status of a job while a look works on it, and what users are told about the changes. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/action.h"
#include "jobs/job_conditions.h"
#include "jobs/kubeflow_job.h"

namespace gangway::jobs {

class KubeflowStatus {
 public:
  KubeflowStatus(const KubeflowJob& job, WallTime now);

  JobRecord record;  // as it will be
  const JobConditions& conditions() const { return conditions_; }

  // Sets the condition and, when that is news, tells it. `word` is what the reason has after the kind.
  void set(std::string_view type, std::string_view message) { set(type, true, type, message); }
  void set(std::string_view type, bool status, std::string_view word, std::string_view message);
  void tell(client::EventType type, std::string_view reason, std::string message);

  // The end; nothing changes in the conditions after it.
  void end();
  void count(const Tallies& tallies);
  // Whoever was still active when the job succeeded has succeeded with it.
  void settle_success();

  // The write that makes it so, with what is told about it; nothing when all is as it was.
  std::vector<client::Action> write() const;

 private:
  json::Object gangway() const;

  const KubeflowJob& job_;
  WallTime now_;
  JobConditions conditions_;
  json::Object counts_;  // status.replicaStatuses
  std::vector<client::Emit> events_;
};

}  // namespace gangway::jobs
