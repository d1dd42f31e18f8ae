#include "cli/arena/submission_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace gangway::cli::arena {
namespace {

void check_nproc(const SubmitFlags& flags, Causes& causes) {
  const std::string& text = flags.nproc_per_node;
  if (text.empty() || text == "auto" || text == "cpu" || text == "gpu") return;
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1)
    causes.add("--nproc-per-node", fmt::format("must be auto, cpu, gpu or a number above 0 (got {})", text));
}

void check_tf_role(std::string_view role, const TfRoleFlags& flags, Causes& causes) {
  const auto flag = [&](std::string_view name) { return fmt::format("--{}-{}", role, name); };
  causes.image(flag("image"), flags.image);
  causes.quantity(flag("cpu"), flags.cpu);
  causes.quantity(flag("cpu-limit"), flags.cpu_limit);
  causes.quantity(flag("memory"), flags.memory);
  causes.quantity(flag("memory-limit"), flags.memory_limit);
  causes.one_of(flag("affinity-policy"), flags.affinity_policy, {"none", "spread", "binpack"});
  causes.one_of(flag("affinity-constraint"), flags.affinity_constraint, {"preferred", "required"});
  if (flags.port < 0 || flags.port > 65535)
    causes.add(flag("port"), fmt::format("must be a port, or 0 for the usual one (got {})", flags.port));
}

void check_role_sequence(const std::string& text, Causes& causes) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string role = lower(std::string_view(text).substr(at, comma - at));
    static const Strings known = {"w", "worker", "p", "ps", "c", "chief", "e", "evaluator"};
    if (!contains(known, role))
      return causes.add("--role-sequence",
                        fmt::format("must be roles with commas between them, as Worker,PS,Chief (got {})", text));
    at = comma + 1;
  }
}

void check_tf(const SubmitFlags& flags, Submission& made, Causes& causes) {
  const TfFlags& tf = flags.tf;
  if (flags.image.empty() && tf.worker.image.empty()) causes.add("--image", "must be set (or --worker-image)");
  if (tf.ps > 0 && flags.image.empty() && tf.ps_role.image.empty())
    causes.add("--ps-image", "must be set (or --image)");
  causes.at_least("--ps", tf.ps, 0);
  causes.at_least("--ps-gpus", tf.ps_gpus, 0);
  if (flags.workers == 0 && !tf.chief) causes.add("--workers", "must be at least 1 where there is no --chief");
  check_tf_role("worker", tf.worker, causes);
  check_tf_role("ps", tf.ps_role, causes);
  check_tf_role("chief", tf.chief_role, causes);
  check_tf_role("evaluator", tf.evaluator_role, causes);
  causes.one_of("--success-policy", tf.success_policy, {"", "ChiefWorker", "AllWorkers"});
  check_role_sequence(tf.role_sequence, causes);
  made.starting_timeout = causes.time("--starting-timeout", tf.starting_timeout, true);
  made.worker_selector = read_selector("--worker-selector", tf.worker.selector, causes);
  made.ps_selector = read_selector("--ps-selector", tf.ps_role.selector, causes);
  made.chief_selector = read_selector("--chief-selector", tf.chief_role.selector, causes);
  made.evaluator_selector = read_selector("--evaluator-selector", tf.evaluator_role.selector, causes);
}

void check_et(const SubmitFlags& flags, Submission& made, Causes& causes) {
  const EtFlags& et = flags.et;
  causes.at_least("--max-wait-time", et.max_wait_seconds, 0);
  causes.at_least("--job-backoff-limit", et.job_backoff_limit.value_or(0), 0);
  causes.one_of("--job-restart-policy", et.job_restart_policy, {"", "Never", "OnFailure"});
  causes.one_of("--worker-restart-policy", et.worker_restart_policy, {"", "Never", "OnFailure"});
  made.launcher_selector = read_selector("--launcher-selector", et.launcher_selector, causes);
  made.launcher_annotations =
      read_pairs("--launcher-annotation", et.launcher_annotation, names::check_qualified_name, nullptr, causes);
  made.worker_annotations =
      read_pairs("--worker-annotation", et.worker_annotation, names::check_qualified_name, nullptr, causes);
}

void check_ray_replicas(const RayFlags& ray, Causes& causes) {
  if (!ray.replicas) return causes.add("--worker-replicas", "must be set");
  causes.at_least("--worker-replicas", *ray.replicas, 0);
  causes.at_least("--worker-min-replicas", ray.min_replicas, 0);
  causes.at_least("--worker-max-replicas", ray.max_replicas, 0);
  const std::int64_t least = ray.min_replicas == 0 ? *ray.replicas : ray.min_replicas;
  const std::int64_t most = ray.max_replicas == 0 ? std::max(least, *ray.replicas) : ray.max_replicas;
  if (least > most)
    causes.add("--worker-min-replicas",
               fmt::format("must not be above --worker-max-replicas (got {} and {})", least, most));
  else if (*ray.replicas < least || *ray.replicas > most)
    causes.add("--worker-replicas",
               fmt::format("must be between --worker-min-replicas and --worker-max-replicas (got {}, "
                           "between {} and {})",
                           *ray.replicas, least, most));
}

void check_ray(const SubmitFlags& flags, Submission& made, Causes& causes) {
  const RayFlags& ray = flags.ray;
  if (flags.image.empty() && (ray.head.image.empty() || ray.worker.image.empty()))
    causes.add("--image", "must be set (or both --head-image and --worker-image)");
  check_ray_replicas(ray, causes);
  causes.at_least("--worker-num-of-hosts", ray.hosts, 1);
  causes.at_least("--autoscaler-idle-timeout-seconds", ray.autoscaler_idle_seconds, 0);
  for (const auto& [role, given] : {std::pair{"head", &ray.head}, std::pair{"worker", &ray.worker}}) {
    causes.image(fmt::format("--{}-image", role), given->image);
    causes.quantity(fmt::format("--{}-cpu", role), given->cpu);
    causes.quantity(fmt::format("--{}-memory", role), given->memory);
    causes.at_least(fmt::format("--{}-gpu", role), given->gpus, -1);
  }
  causes.image("--autoscaler-image", ray.autoscaler_image);
  causes.quantity("--autoscaler-cpu", ray.autoscaler_cpu);
  causes.quantity("--autoscaler-memory", ray.autoscaler_memory);
  causes.one_of("--head-service-type", ray.head_service_type, {"ClusterIP", "NodePort", "LoadBalancer"});
  causes.one_of("--autoscaler-upscaling-mode", ray.upscaling_mode, {"Default", "Aggressive", "Conservative"});
  if (ray.suspend && !ray.shutdown_after_finished)
    causes.add("--suspend", "needs --shutdown-after-finished: only such a Ray job can be suspended");
  made.active_deadline = causes.time("--active-deadline-seconds", ray.active_deadline, false);
}

}  // namespace

bool contains(const Strings& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

void Causes::add(std::string_view flag, std::string message) {
  all.push_back({"FieldValueInvalid", std::move(message), std::string(flag)});
}

void Causes::at_least(std::string_view flag, std::int64_t value, std::int64_t least) {
  if (value < least) add(flag, fmt::format("must be at least {} (got {})", least, value));
}

void Causes::one_of(std::string_view flag, std::string_view value, std::initializer_list<std::string_view> words) {
  if (std::find(words.begin(), words.end(), value) != words.end()) return;
  Strings shown;
  for (const std::string_view word : words)
    if (!word.empty()) shown.emplace_back(word);
  add(flag, fmt::format("must be one of {} (got {})", fmt::join(shown, ", "), value.empty() ? "nothing" : value));
}

void Causes::absolute(std::string_view flag, std::string_view path) {
  if (!path.starts_with('/'))
    add(flag, fmt::format("must be a path that begins with / (got {})", path.empty() ? "nothing" : path));
}

void Causes::quantity(std::string_view flag, std::string_view text) {
  if (text.empty()) return;
  if (auto checked = check_quantity(text); !checked) add(flag, std::move(checked.error().message));
}

void Causes::image(std::string_view flag, std::string_view text) {
  if (text.empty()) return;
  if (auto checked = check_image(text); !checked) add(flag, std::move(checked.error().message));
}

std::optional<Duration> Causes::time(std::string_view flag, std::string_view text, bool may_be_zero) {
  if (text.empty()) return std::nullopt;
  return take(flag, parse_time(text, may_be_zero));
}

std::vector<KeyValue> read_pairs(std::string_view flag, const Strings& texts, NameCheck key, NameCheck value,
                                 Causes& causes) {
  std::vector<KeyValue> pairs;
  for (const std::string& text : texts) {
    auto pair = causes.take(flag, parse_key_value(text));
    if (!pair) continue;
    const auto check = [&](NameCheck rule, const std::string& word) {
      if (rule == nullptr) return;
      for (const std::string& message : rule(word)) causes.add(flag, fmt::format("{}: {}", word, message));
    };
    check(key, pair->first);
    check(value, pair->second);
    pairs.push_back(std::move(*pair));
  }
  return pairs;
}

std::vector<KeyValue> read_selector(std::string_view flag, const Strings& texts, Causes& causes) {
  return read_pairs(flag, texts, names::check_qualified_name, names::check_label_value, causes);
}

void check_type_flags(const SubmitFlags& flags, Submission& made, Causes& causes) {
  if (!flags.clean_task_policy.empty())
    causes.one_of("--clean-task-policy", flags.clean_task_policy, {"None", "Running", "All"});
  made.running_timeout = causes.time("--running-timeout", flags.running_timeout, true);
  made.ttl_after_finished = causes.time("--ttl-after-finished", flags.ttl_after_finished, true);
  switch (flags.type) {
    case JobType::kTf:
      return check_tf(flags, made, causes);
    case JobType::kRay:
      return check_ray(flags, made, causes);
    case JobType::kEt:
      check_et(flags, made, causes);
      break;
    case JobType::kPytorch:
      check_nproc(flags, causes);
      break;
    case JobType::kMpi:
    case JobType::kHorovod:
      if (flags.ssh_port < 0 || flags.ssh_port > 65535)
        causes.add("--ssh-port", fmt::format("must be a port (got {})", flags.ssh_port));
      break;
  }
  if (flags.image.empty()) causes.add("--image", "must be set");
}

}  // namespace gangway::cli::arena
