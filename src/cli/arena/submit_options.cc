#include "cli/arena/submit_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string>

namespace gangway::cli::arena {
namespace {

// Names flags of one command, group by group. Of one that is given twice the last counts, as scripts that append
// expect.
class FlagSet {
 public:
  FlagSet(CLI::App& command, std::string group) : command_(command), group_(std::move(group)) {}

  void text(const std::string& name, std::string& value, const std::string& help) {
    command_.add_option(name, value, help)->take_last()->group(group_);
  }
  void text(const std::string& name, std::optional<std::string>& value, const std::string& help) {
    command_.add_option(name, value, help)->take_last()->group(group_);
  }
  // Once for each value; commas do not split.
  void list(const std::string& name, Strings& values, const std::string& help) {
    command_.add_option(name, values, help)->allow_extra_args(false)->group(group_);
  }
  void number(const std::string& name, std::int64_t& value, const std::string& help) {
    command_.add_option(name, value, help)->check(whole_number())->take_last()->group(group_);
  }
  void number(const std::string& name, std::optional<std::int64_t>& value, const std::string& help) {
    command_.add_option(name, value, help)->check(whole_number())->take_last()->group(group_);
  }
  void flag(const std::string& name, bool& value, const std::string& help) {
    command_.add_flag(name, value, help)->group(group_);
  }

 private:
  static CLI::Validator whole_number() {
    return {[](std::string& text) -> std::string {
              std::int64_t value = 0;
              const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
              if (error == std::errc() && end == text.data() + text.size()) return "";
              return fmt::format("must be a whole number (got {})", text.empty() ? "nothing" : text);
            },
            ""};
  }

  CLI::App& command_;
  std::string group_;
};

void add_common(CLI::App& command, SubmitFlags& flags) {
  FlagSet job(command, "Job");
  job.text("--name", flags.name, "The job's name");
  job.text("--image", flags.image, "The image of its containers");
  job.number("--gpus", flags.gpus, "GPUs of each worker");
  job.list("--device", flags.device, "Another device, as amd.com/gpu=1; may be repeated");
  job.text("--working-dir", flags.working_dir, "Where the command runs; code lands in DIR/code");
  job.list("-e,--env", flags.env, "NAME=VALUE; may be repeated");
  job.list("-a,--annotation", flags.annotation, "KEY=VALUE of the job and its pods; may be repeated");
  job.list("-l,--label", flags.label, "KEY=VALUE of the job and its pods; may be repeated");
  job.text("--shell", flags.shell, "sh or bash");
  job.number("--retry", flags.retry, "How often it may fail and start again");
  job.flag("--rdma", flags.rdma, "Use RDMA devices");
  job.text("--model-name", flags.model_name, "Noted in the job's record");
  job.text("--model-source", flags.model_source, "Noted in the job's record");
  FlagSet data(command, "Data and code");
  data.list("-d,--data", flags.data, "CLAIM:/path, a volume claim; may be repeated");
  data.list("--data-dir", flags.data_dir, "/host[:/path], a directory of the node; may be repeated");
  data.list("--config-file", flags.config_file, "FILE[:/path], a file of this machine; may be repeated");
  data.text("--sync-mode", flags.sync_mode, "git or rsync: fetch code before the command runs");
  data.text("--sync-source", flags.sync_source, "The repository, or rsync's source");
  data.text("--sync-image", flags.sync_image, "The image that fetches it");
  data.flag("--tensorboard", flags.tensorboard, "Serve TensorBoard beside the job");
  data.text("--tensorboard-image", flags.tensorboard_image, "Its image");
  data.text("--logdir", flags.logdir, "Where the training logs are");
  FlagSet image(command, "Images");
  image.list("--image-pull-secret", flags.image_pull_secret, "A Secret with credentials; may be repeated");
  image.text("--image-pull-policy", flags.image_pull_policy, "Always, IfNotPresent or Never");
}

void add_scheduling(CLI::App& command, SubmitFlags& flags) {
  FlagSet place(command, "Scheduling");
  place.text("-p,--priority", flags.priority, "The PriorityClass");
  place.text("--queue", flags.queue, "Wait in a queue: the namespace's own, or --queue=NAME");
  place.flag("--gang", flags.gang, "Start all pods together or none");
  place.list("--toleration", flags.toleration, "all, or KEY=VALUE:EFFECT[,OPERATOR]; may be repeated");
  place.list("--selector", flags.selector, "KEY=VALUE of nodes; may be repeated");
  place.text("--scheduler", flags.scheduler, "The schedulerName of its pods");
  place.flag("--hostNetwork", flags.host_network, "Use the node's network");
  place.flag("--hostIPC", flags.host_ipc, "Use the node's IPC namespace");
  place.flag("--hostPID", flags.host_pid, "Use the node's PID namespace");
  FlagSet preemption(command, "Preemption");
  preemption.text("--on-preempt", flags.on_preempt, "fail, requeue (come back whole) or shrink (an elastic job)");
  preemption.text("--checkpoint-dir", flags.checkpoint_dir, "Where the program keeps its checkpoints");
  preemption.text("--min-runtime", flags.min_runtime, "Not to be disturbed for so long, as 10m");
  preemption.text("--expected-duration", flags.expected_duration, "How long it will run, as 2h");
}

void add_workers(CLI::App& command, SubmitFlags& flags) {
  FlagSet size(command, "Job");
  size.number("--workers", flags.workers, flags.type == JobType::kPytorch ? "Pods, the master included" : "Workers");
  size.number("--min-workers", flags.min_workers, "Workers that are enough: it is elastic, and may shrink to so many");
}

void add_cpu_and_memory(CLI::App& command, SubmitFlags& flags) {
  FlagSet pods(command, "Job");
  pods.text("--cpu", flags.cpu, "CPUs of each worker, as 2 or 500m");
  pods.text("--memory", flags.memory, "Memory of each worker, as 4Gi");
}

void add_ending(CLI::App& command, SubmitFlags& flags) {
  FlagSet end(command, "End");
  end.text("--clean-task-policy", flags.clean_task_policy, "Pods to remove at the end: None, Running or All");
  end.text("--running-timeout", flags.running_timeout, "End it after so long, as 12h");
  end.text("--ttl-after-finished", flags.ttl_after_finished, "Remove it so long after its end");
}

void add_tf_role(FlagSet& set, const std::string& role, TfRoleFlags& flags) {
  const std::string prefix = "--" + role + "-";
  set.text(prefix + "cpu", flags.cpu, "CPUs that it requests");
  set.text(prefix + "cpu-limit", flags.cpu_limit, "CPUs that it may use");
  set.text(prefix + "memory", flags.memory, "Memory that it requests");
  set.text(prefix + "memory-limit", flags.memory_limit, "Memory that it may use");
  set.list(prefix + "selector", flags.selector, "KEY=VALUE of nodes, instead of --selector");
  if (role != "evaluator") set.number(prefix + "port", flags.port, "Its port; 0: 2222");
  if (role == "chief" || role == "evaluator") return;
  set.text(prefix + "image", flags.image, "Its image, instead of --image");
  set.text(prefix + "affinity-policy", flags.affinity_policy, "none, spread or binpack");
  set.text(prefix + "affinity-constraint", flags.affinity_constraint, "preferred or required");
}

void add_tf(CLI::App& command, SubmitFlags& flags) {
  TfFlags& tf = flags.tf;
  FlagSet roles(command, "Roles");
  roles.number("--ps", tf.ps, "Parameter servers");
  roles.number("--ps-gpus", tf.ps_gpus, "GPUs of each of them");
  roles.flag("--chief", tf.chief, "With a chief");
  roles.flag("--evaluator", tf.evaluator, "With an evaluator");
  add_tf_role(roles, "worker", tf.worker);
  add_tf_role(roles, "ps", tf.ps_role);
  add_tf_role(roles, "chief", tf.chief_role);
  add_tf_role(roles, "evaluator", tf.evaluator_role);
  roles.text("--success-policy", tf.success_policy, "ChiefWorker or AllWorkers");
  roles.text("--starting-timeout", tf.starting_timeout, "Give up when it has not started after so long");
  roles.text("--role-sequence", tf.role_sequence, "The order in which roles start, as Worker,PS,Chief");
  roles.text("--share-memory", flags.share_memory, "Size of /dev/shm (2Gi)");
}

void add_ray(CLI::App& command, SubmitFlags& flags) {
  RayFlags& ray = flags.ray;
  FlagSet cluster(command, "Ray cluster");
  cluster.number("--worker-replicas,--workers", ray.replicas, "Workers");
  cluster.number("--worker-min-replicas,--min-workers", ray.min_replicas, "At least so many (0: --worker-replicas)");
  cluster.number("--worker-max-replicas,--max-workers", ray.max_replicas, "At most so many (0: --worker-replicas)");
  cluster.number("--worker-num-of-hosts", ray.hosts, "Pods of each worker");
  for (auto [role, given] : {std::pair{"head", &ray.head}, std::pair{"worker", &ray.worker}}) {
    cluster.text(fmt::format("--{}-image", role), given->image, "Its image, instead of --image");
    cluster.text(fmt::format("--{}-cpu", role), given->cpu, "Its CPUs");
    cluster.text(fmt::format("--{}-memory", role), given->memory, "Its memory");
    cluster.number(fmt::format("--{}-gpu", role), given->gpus, "Its GPUs");
  }
  cluster.text("--head-service-type", ray.head_service_type, "ClusterIP, NodePort or LoadBalancer");
  cluster.text("--ray-version", ray.ray_version, "The version of Ray in the image");
  cluster.text("--share-memory", flags.share_memory, "Size of /dev/shm");
  cluster.flag("--suspend", ray.suspend, "Create it suspended");
  cluster.flag("--shutdown-after-finished", ray.shutdown_after_finished, "Remove the cluster at the end (true)");
  cluster.text("--ttl-after-finished", flags.ttl_after_finished, "How long after the end (10s)");
  cluster.text("--active-deadline-seconds", ray.active_deadline, "End it after so long, as 12h");
  cluster.text("--pre-stop-command", ray.pre_stop_command, "What a pod runs before it ends");
  FlagSet scaling(command, "Autoscaling");
  scaling.flag("--enable-autoscaling", ray.autoscaling, "Let Ray ask for workers");
  scaling.text("--autoscaler-cpu", ray.autoscaler_cpu, "CPUs of the autoscaler");
  scaling.text("--autoscaler-memory", ray.autoscaler_memory, "Its memory");
  scaling.text("--autoscaler-image", ray.autoscaler_image, "Its image");
  scaling.text("--autoscaler-image-pull-policy", ray.autoscaler_pull_policy, "Its pull policy");
  scaling.number("--autoscaler-idle-timeout-seconds,--idle-timeout-seconds", ray.autoscaler_idle_seconds,
                 "Remove workers that were idle for so long");
  scaling.text("--autoscaler-upscaling-mode,--upscaling-mode", ray.upscaling_mode,
               "Default, Aggressive or Conservative");
}

void add_et(CLI::App& command, SubmitFlags& flags) {
  EtFlags& et = flags.et;
  flags.min_workers = 1;
  flags.max_workers = 1000;
  FlagSet elastic(command, "Elastic training");
  elastic.number("--max-workers", flags.max_workers, "The most workers (1000)");
  elastic.flag("--spot-instance", et.spot_instance, "Its nodes may be taken away");
  elastic.number("--max-wait-time", et.max_wait_seconds, "Seconds that it may wait");
  elastic.list("--launcher-selector", et.launcher_selector, "KEY=VALUE of the launcher's node");
  elastic.list("--launcher-annotation", et.launcher_annotation, "KEY=VALUE of the launcher");
  elastic.list("--worker-annotation", et.worker_annotation, "KEY=VALUE of the workers");
  elastic.text("--job-restart-policy", et.job_restart_policy, "Never or OnFailure, of the launcher");
  elastic.text("--worker-restart-policy", et.worker_restart_policy, "Never or OnFailure, of the workers");
  elastic.number("--job-backoff-limit", et.job_backoff_limit, "How often the launcher may fail (--retry, or 6)");
  elastic.text("--ssh-secret", et.ssh_secret, "A Secret with keys, instead of made ones");
}

void add_mpi(CLI::App& command, SubmitFlags& flags) {
  FlagSet mpi(command, "Job");
  mpi.flag("--gputopology", flags.gpu_topology, "Ask for GPUs by their topology");
  mpi.flag("--mounts-on-launcher", flags.mounts_on_launcher, "Mount the data on the launcher, too");
  mpi.text("--clean-task-policy", flags.clean_task_policy, "Pods to remove at the end: None, Running or All");
  mpi.text("--share-memory", flags.share_memory, "Size of /dev/shm (2Gi)");
  if (flags.type == JobType::kHorovod)
    mpi.number("--ssh-port", flags.ssh_port, "Noted in the job's record: workers are reached without sshd");
}

}  // namespace

void add_submit_flags(CLI::App& command, SubmitFlags& flags) {
  add_common(command, flags);
  add_scheduling(command, flags);
  command.add_option("command", flags.command, "What the job runs");
  switch (flags.type) {
    case JobType::kRay:
      return add_ray(command, flags);
    case JobType::kTf:
      add_tf(command, flags);
      add_ending(command, flags);
      break;
    case JobType::kPytorch: {
      add_cpu_and_memory(command, flags);
      add_ending(command, flags);
      FlagSet torch(command, "Job");
      torch.text("--share-memory", flags.share_memory, "Size of /dev/shm (2Gi)");
      torch.text("--nproc-per-node", flags.nproc_per_node, "auto, cpu, gpu or a number");
      torch.number("--max-workers", flags.max_workers, "The most workers of an elastic job (--workers)");
      break;
    }
    case JobType::kEt:
      add_cpu_and_memory(command, flags);
      add_et(command, flags);
      break;
    case JobType::kMpi:
    case JobType::kHorovod:
      add_cpu_and_memory(command, flags);
      add_mpi(command, flags);
      break;
  }
  add_workers(command, flags);
}

}  // namespace gangway::cli::arena
