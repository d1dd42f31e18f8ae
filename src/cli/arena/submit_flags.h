// What `arena submit` was given, as values: words as they were typed, not yet judged. check_submission() judges them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/arena/job_type.h"

namespace gangway::cli::arena {

using Strings = std::vector<std::string>;

// Of one role of a TFJob.
struct TfRoleFlags {
  std::string image;
  std::int64_t port = 0;
  std::string cpu;
  std::string cpu_limit;
  std::string memory;
  std::string memory_limit;
  Strings selector;
  std::string affinity_policy = "none";
  std::string affinity_constraint = "preferred";
};

struct TfFlags {
  std::int64_t ps = 0;
  std::int64_t ps_gpus = 0;
  bool chief = false;
  bool evaluator = false;
  TfRoleFlags worker, ps_role, chief_role, evaluator_role;
  std::string success_policy;
  std::string starting_timeout;
  std::string role_sequence;
};

struct RayRoleFlags {
  std::string image;
  std::string cpu;
  std::string memory;
  std::int64_t gpus = -1;  // none given
};

struct RayFlags {
  RayRoleFlags head, worker;
  std::optional<std::int64_t> replicas;
  std::int64_t min_replicas = 0;  // 0: as many as replicas
  std::int64_t max_replicas = 0;
  std::int64_t hosts = 1;
  std::string head_service_type = "ClusterIP";
  std::string ray_version;
  bool suspend = false;
  bool shutdown_after_finished = true;
  std::string active_deadline;
  std::string pre_stop_command = "ray stop";
  bool autoscaling = false;
  std::string autoscaler_cpu = "500m";
  std::string autoscaler_memory = "512Mi";
  std::string autoscaler_image;
  std::string autoscaler_pull_policy = "IfNotPresent";
  std::int64_t autoscaler_idle_seconds = 60;
  std::string upscaling_mode = "Default";
};

struct EtFlags {
  bool spot_instance = false;
  std::int64_t max_wait_seconds = 0;
  Strings launcher_selector;
  Strings launcher_annotation;
  Strings worker_annotation;
  std::string job_restart_policy;
  std::string worker_restart_policy;
  std::optional<std::int64_t> job_backoff_limit;
  std::string ssh_secret;
};

struct SubmitFlags {
  JobType type = JobType::kMpi;
  std::string ns = "default";
  Strings command;

  std::string name;
  std::string image;
  std::int64_t gpus = 0;
  Strings device;
  std::int64_t workers = 1;
  std::int64_t retry = 0;
  std::string working_dir = "/root";
  Strings env, data, data_dir, annotation, label;
  bool rdma = false;
  bool gang = false;
  std::string priority;
  std::optional<std::string> queue;  // kDefaultQueue: the namespace's own
  Strings toleration, selector, config_file;
  Strings image_pull_secret;
  std::string image_pull_policy = "Always";
  std::string shell = "sh";
  std::string scheduler;
  bool host_network = false, host_ipc = false, host_pid = false;
  std::string sync_mode, sync_source, sync_image;
  bool tensorboard = false;
  std::string tensorboard_image;
  std::string logdir = "/training_logs";
  std::string model_name, model_source;

  std::string cpu, memory;
  std::string share_memory;  // empty: the type's own
  std::string clean_task_policy;
  std::string running_timeout, ttl_after_finished;  // durations; empty: none
  std::string nproc_per_node;
  bool mounts_on_launcher = false;
  bool gpu_topology = false;
  std::int64_t ssh_port = 0;

  std::string on_preempt;
  std::optional<std::int64_t> min_workers, max_workers;
  std::string checkpoint_dir, min_runtime, expected_duration;

  TfFlags tf;
  RayFlags ray;
  EtFlags et;
};

}  // namespace gangway::cli::arena
