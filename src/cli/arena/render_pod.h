// Pod templates of submitted jobs, and what all objects of a submission share. Pure; for render*.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arena/submission.h"
#include "json/value.h"

namespace gangway::cli::arena {

// What one role's pods differ in.
struct PodRole {
  std::string container;
  std::string image;
  std::int64_t gpus = 0;
  std::string cpu, cpu_limit;  // no limit: as much as is requested
  std::string memory, memory_limit;
  std::string share_memory;
  const std::vector<KeyValue>* selector = nullptr;  // none: that of the job
  bool runs_command = true;
  bool has_data = true;
  bool has_devices = true;        // those of --device and --rdma
  std::int64_t gang_minimum = 0;  // pods; 0: no gang labels
};

json::Value pod_template(const Submission& submission, const PodRole& role);

json::Object to_object(const std::vector<KeyValue>& pairs);
// Labels of the job and of its pods.
json::Object job_labels(const Submission& submission);
// {"name", "namespace", "labels", "annotations"} of the job itself.
json::Object job_metadata(const Submission& submission);
// GPUs of all pods together, as the record of a submission says it.
std::int64_t requested_gpus(const Submission& submission);

// The ConfigMap that holds the files of one folder, and the folder.
struct ConfigFolder {
  std::string folder;
  std::string name;
  std::vector<const ConfigFile*> files;
};
std::vector<ConfigFolder> config_folders(const Submission& submission);

// Where TensorBoard's logs live: a volume of the pods that holds --logdir.
struct LogVolume {
  json::Value volume;
  std::string path;     // in the container
  bool is_new = false;  // not one of --data or --data-dir
};
LogVolume log_volume(const Submission& submission);

}  // namespace gangway::cli::arena
