// ReplicaObjects: the pods of a job of Kubeflow's, its Services, PodGroup and what else it has, and what is to be done
// about them. Pure.
//
// Pods of an earlier attempt go first; while one of them is there, none of the present attempt is made. So a gang that
// is queued again comes back as one.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "client/action.h"
#include "client/view.h"
#include "jobs/kubeflow_job.h"
#include "jobs/launcher_job.h"
#include "jobs/replica_pods.h"

namespace gangway::jobs {

class ReplicaObjects {
 public:
  // `launcher`: the Job of a kind whose Launcher has one.
  ReplicaObjects(const KubeflowJob& job, const std::vector<ReplicaPod>& pods, const LauncherJob& launcher,
                 const client::View& view);

  // As many as the job wants, no others, and the PodGroup; `succeeded` pods have done their part.
  void keep(std::int64_t succeeded);
  // None at all.
  void remove_all();
  // What a finished job does not keep. `keeps_running`: what still runs is left to end by itself, unless all goes. The
  // Job of a Launcher always stays, for its log.
  void clean_up(CleanPods which, bool keeps_running);

  std::vector<client::Action>& actions() { return actions_; }

 private:
  void keep_pods();
  void keep_services();
  void keep_launcher();
  void remove_launcher();
  void create_pod(const ReplicaSpec& spec, std::int64_t index);
  void remove(const ReplicaPod& pod);
  void remove_service(const api::Version& service);
  void drop_group();
  bool may_create();

  const KubeflowJob& job_;
  const std::vector<ReplicaPod>& pods_;
  const LauncherJob& launcher_;
  const client::View& view_;
  std::vector<api::Version> services_;
  std::size_t creations_left_;
  std::vector<client::Action> actions_;
};

}  // namespace gangway::jobs
