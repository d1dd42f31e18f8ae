// A submission that was judged: everything a job is made of, parsed and found right. Pure.
//
// check_submission() collects all that is wrong, each cause with the flag's name, so that a user mends a command once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/arena/flag_values.h"
#include "cli/arena/submit_flags.h"
#include "json/value.h"

namespace gangway::cli::arena {

// What the judgement needs to know of the world.
struct SubmitFacts {
  Strings priority_classes;
  bool serves_queues = false;
  Strings queues;              // LocalQueues of the namespace
  Strings taken;               // "MPIJob/demo", "ConfigMap/demo-mpijob": what of the job exists already
  std::string home;            // for ~ in --config-file
  Strings image_pull_secrets;  // of the user's configuration, where none is given
  std::function<Result<std::string>(const std::string&)> read_file;
};

struct ConfigFile {
  Mount mount;
  std::string content;
};

struct Submission {
  SubmitFlags flags;
  std::vector<KeyValue> env, annotations, labels, selector, devices;
  std::vector<Mount> data, data_dirs;
  std::vector<json::Value> tolerations;
  std::vector<ConfigFile> config_files;
  Strings pull_secrets;
  std::string queue;  // empty: none
  std::optional<Duration> running_timeout, ttl_after_finished, active_deadline, starting_timeout;
  std::vector<KeyValue> worker_selector, ps_selector, chief_selector, evaluator_selector, launcher_selector;
  std::vector<KeyValue> launcher_annotations, worker_annotations;

  // Workers that are enough to train; all of them where it is not elastic.
  std::int64_t min_workers() const { return flags.min_workers.value_or(flags.workers); }
  bool is_elastic() const { return flags.min_workers.has_value(); }
};

Result<Submission> check_submission(const SubmitFlags& flags, const SubmitFacts& facts);

}  // namespace gangway::cli::arena
