#include "cli/arena/submission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/names.h"
#include "cli/arena/arguments.h"
#include "cli/arena/submission_checks.h"

namespace gangway::cli::arena {
namespace {

constexpr std::size_t kMaxName = 49;
constexpr std::size_t kMaxRayName = 47;

void check_name(const SubmitFlags& flags, Causes& causes) {
  const std::size_t longest = flags.type == JobType::kRay ? kMaxRayName : kMaxName;
  if (flags.name.empty()) return causes.add("--name", "must be set");
  if (flags.name.size() > longest)
    return causes.add(
        "--name", fmt::format("{} has {} characters; at most {} are allowed", flags.name, flags.name.size(), longest));
  // Services are named after the job, and theirs begin with a letter.
  if (!names::check_dns1035_label(flags.name).empty())
    causes.add("--name", fmt::format("must be lower-case letters, digits and '-', begin with a letter and end with a "
                                     "letter or digit (got {})",
                                     flags.name));
}

void check_priority(const SubmitFlags& flags, const SubmitFacts& facts, Causes& causes) {
  if (flags.priority.empty() || contains(facts.priority_classes, flags.priority)) return;
  causes.add("--priority", fmt::format("the priority class {} does not exist; there are: {}", flags.priority,
                                       fmt::join(facts.priority_classes, ", ")));
}

void check_queue(const SubmitFlags& flags, const SubmitFacts& facts, Submission& made, Causes& causes) {
  if (!flags.queue) return;
  if (!facts.serves_queues)
    return causes.add("--queue", "this cluster has no queues: it does not serve LocalQueues of kueue.x-k8s.io");
  const std::string name = *flags.queue == kDefaultQueue ? "default" : *flags.queue;
  if (!contains(facts.queues, name)) {
    const std::string there =
        facts.queues.empty() ? "it has none" : fmt::format("there are: {}", fmt::join(facts.queues, ", "));
    return causes.add("--queue", fmt::format("namespace {} has no queue {}; {}", flags.ns, name, there));
  }
  made.queue = name;
}

void check_data(const SubmitFlags& flags, Submission& made, Causes& causes) {
  std::set<std::string> paths;
  std::set<std::string> claims;
  const auto is_free = [&](const char* flag, const std::string& path) {
    if (!paths.insert(path).second) causes.add(flag, fmt::format("{} is mounted twice", path));
  };
  for (const std::string& text : flags.data) {
    auto mount = causes.take("--data", parse_data(text));
    if (!mount) continue;
    if (!claims.insert(mount->source).second)
      causes.add("--data", fmt::format("the claim {} is given twice", mount->source));
    is_free("--data", mount->path);
    made.data.push_back(std::move(*mount));
  }
  for (const std::string& text : flags.data_dir) {
    auto mount = causes.take("--data-dir", parse_data_dir(text));
    if (!mount) continue;
    is_free("--data-dir", mount->path);
    made.data_dirs.push_back(std::move(*mount));
  }
}

void check_config_files(const SubmitFlags& flags, const SubmitFacts& facts, Submission& made, Causes& causes) {
  for (const std::string& text : flags.config_file) {
    auto mount = causes.take("--config-file", parse_config_file(text, facts.home));
    if (!mount) continue;
    auto content = facts.read_file(mount->source);
    if (!content) {
      causes.add("--config-file", fmt::format("{} cannot be read: {}", mount->source, content.error().message));
      continue;
    }
    made.config_files.push_back({std::move(*mount), std::move(*content)});
  }
}

void check_words(const SubmitFlags& flags, Submission& made, Causes& causes) {
  made.env = read_pairs("--env", flags.env, names::check_relaxed_env_var_name, nullptr, causes);
  made.labels = read_pairs("--label", flags.label, names::check_qualified_name, names::check_label_value, causes);
  made.annotations = read_pairs("--annotation", flags.annotation, names::check_qualified_name, nullptr, causes);
  made.selector = read_selector("--selector", flags.selector, causes);
  for (const std::string& text : flags.device)
    if (auto device = causes.take("--device", parse_device(text))) made.devices.push_back(std::move(*device));
  for (const std::string& text : flags.toleration)
    if (auto toleration = causes.take("--toleration", parse_toleration(text)))
      made.tolerations.push_back(std::move(*toleration));
}

void check_sync(const SubmitFlags& flags, Causes& causes) {
  causes.one_of("--sync-mode", flags.sync_mode, {"", "git", "rsync"});
  if (!flags.sync_mode.empty() && flags.sync_source.empty())
    causes.add("--sync-source", "must be set when --sync-mode is set");
  if (flags.sync_mode.empty() && !flags.sync_source.empty())
    causes.add("--sync-mode", "must be git or rsync when --sync-source is set");
}

void check_pods(const SubmitFlags& flags, Causes& causes) {
  causes.image("--image", flags.image);
  causes.image("--sync-image", flags.sync_image);
  causes.image("--tensorboard-image", flags.tensorboard_image);
  causes.at_least("--gpus", flags.gpus, 0);
  causes.at_least("--workers", flags.workers, flags.type == JobType::kTf ? 0 : 1);
  causes.at_least("--retry", flags.retry, 0);
  causes.quantity("--cpu", flags.cpu);
  causes.quantity("--memory", flags.memory);
  causes.quantity("--share-memory", flags.share_memory);
  causes.one_of("--image-pull-policy", flags.image_pull_policy, {"Always", "IfNotPresent", "Never"});
  causes.one_of("--shell", flags.shell, {"sh", "bash"});
  causes.absolute("--working-dir", flags.working_dir);
  if (flags.tensorboard) causes.absolute("--logdir", flags.logdir);
  if (!flags.model_name.empty() && flags.model_source.empty())
    causes.add("--model-source", "must be set when --model-name is set");
  for (const std::string& secret : flags.image_pull_secret)
    if (!names::check_dns1123_subdomain(secret).empty())
      causes.add("--image-pull-secret", fmt::format("must be the name of a Secret (got {})", secret));
}

void check_preemption(const SubmitFlags& flags, Causes& causes) {
  causes.one_of("--on-preempt", lower(flags.on_preempt), {"", "fail", "requeue", "shrink"});
  if (!flags.checkpoint_dir.empty()) causes.absolute("--checkpoint-dir", flags.checkpoint_dir);
  causes.time("--min-runtime", flags.min_runtime, true);
  causes.time("--expected-duration", flags.expected_duration, false);
  if (flags.min_workers) {
    causes.at_least("--min-workers", *flags.min_workers, 1);
    if (*flags.min_workers > flags.workers)
      causes.add("--min-workers",
                 fmt::format("must not be above --workers (got {}, of {})", *flags.min_workers, flags.workers));
  }
  if (flags.max_workers) {
    if (*flags.max_workers < flags.min_workers.value_or(1))
      causes.add("--max-workers", fmt::format("must not be below --min-workers (got {}, minimum {})",
                                              *flags.max_workers, flags.min_workers.value_or(1)));
    if (*flags.max_workers < flags.workers)
      causes.add("--max-workers",
                 fmt::format("must not be below --workers (got {}, of {})", *flags.max_workers, flags.workers));
  }
  if (lower(flags.on_preempt) == "shrink" && !flags.min_workers && flags.type != JobType::kRay)
    causes.add("--on-preempt", "shrink needs --min-workers: what is not elastic cannot shrink");
}

void check_taken(const SubmitFlags& flags, const SubmitFacts& facts, Causes& causes) {
  const JobTypeInfo& info = info_of(flags.type);
  if (contains(facts.taken, fmt::format("{}/{}", info.kind, flags.name)))
    return causes.add("--name", fmt::format("the job {} exists already in namespace {}; `arena delete {}` removes it",
                                            flags.name, flags.ns, flags.name));
  for (const std::string& taken : facts.taken)
    causes.add("--name", fmt::format("{} of an earlier job is still there; delete it first", taken));
}

}  // namespace

Result<Submission> check_submission(const SubmitFlags& flags, const SubmitFacts& facts) {
  Submission made;
  made.flags = flags;
  Causes causes;
  if (flags.command.empty())
    causes.add("COMMAND", "not found command args: say what the job is to run, behind the flags");
  check_name(flags, causes);
  check_priority(flags, facts, causes);
  check_queue(flags, facts, made, causes);
  check_data(flags, made, causes);
  check_words(flags, made, causes);
  check_config_files(flags, facts, made, causes);
  check_pods(flags, causes);
  check_sync(flags, causes);
  check_preemption(flags, causes);
  check_type_flags(flags, made, causes);
  check_taken(flags, facts, causes);
  made.pull_secrets = flags.image_pull_secret.empty() ? facts.image_pull_secrets : flags.image_pull_secret;
  if (!causes.all.empty()) {
    Error error = bad_request("failed to validate command args");
    error.causes = std::move(causes.all);
    return error;
  }
  return made;
}

}  // namespace gangway::cli::arena
