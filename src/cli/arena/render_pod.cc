#include "cli/arena/render_pod.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/gang.h"
#include "cli/arena/render.h"
#include "client/name_hash.h"

namespace gangway::cli::arena {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kChartVersion = "0.1.0";
constexpr std::string_view kGitImage = "alpine/git:2.45.2";
constexpr std::string_view kRsyncImage = "instrumentisto/rsync-ssh:alpine";

json::Object env_var(std::string_view name, std::string_view value) {
  return json::Object{{"name", name}, {"value", value}};
}

std::string joined(const Strings& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

json::Array env_of(const Submission& submission, std::int64_t gpus) {
  const SubmitFlags& flags = submission.flags;
  json::Array env;
  const bool is_ray = flags.type == JobType::kRay;
  env.push_back(env_var("workers", std::to_string(is_ray ? flags.ray.replicas.value_or(0) : flags.workers)));
  env.push_back(env_var("gpus", std::to_string(flags.gpus)));
  if (flags.type == JobType::kEt) {
    env.push_back(env_var("minWorkers", std::to_string(submission.min_workers())));
    env.push_back(env_var("maxWorkers", std::to_string(flags.max_workers.value_or(flags.workers))));
  }
  // Without it every container of an image for GPUs sees all of the node's.
  if (gpus == 0) env.push_back(env_var("NVIDIA_VISIBLE_DEVICES", "void"));
  if (flags.type == JobType::kPytorch && !flags.nproc_per_node.empty())
    env.push_back(env_var("PET_NPROC_PER_NODE", flags.nproc_per_node));
  for (const auto& [key, value] : submission.env) env.push_back(env_var(key, value));
  return env;
}

json::Object resources_of(const Submission& submission, const PodRole& role) {
  json::Object requests;
  json::Object limits;
  const auto both = [&](std::string_view resource, const std::string& request, const std::string& limit) {
    if (!request.empty()) requests[resource] = request;
    if (!limit.empty() || !request.empty()) limits[resource] = limit.empty() ? request : limit;
  };
  both("cpu", role.cpu, role.cpu_limit);
  both("memory", role.memory, role.memory_limit);
  const std::string_view gpu = submission.flags.gpu_topology ? "aliyun.com/gpu" : kGpu;
  if (role.gpus > 0) both(gpu, std::to_string(role.gpus), "");
  if (role.has_devices) {
    for (const auto& [device, count] : submission.devices) both(device, count, "");
    if (submission.flags.rdma) both("rdma/hca", "1", "");
  }
  json::Object resources;
  if (!requests.empty()) resources["requests"] = std::move(requests);
  if (!limits.empty()) resources["limits"] = std::move(limits);
  return resources;
}

// Volumes of a pod, and where its main container has them.
struct Volumes {
  json::Array volumes;
  json::Array mounts;

  void add(json::Value volume, std::string_view path) {
    mounts.push_back(json::Object{{"name", json::string_at(volume, {"name"})}, {"mountPath", path}});
    volumes.push_back(std::move(volume));
  }
};

json::Value claim_volume(const Mount& mount) {
  return json::Object{{"name", mount.source}, {"persistentVolumeClaim", json::Object{{"claimName", mount.source}}}};
}

json::Value host_volume(std::string_view name, std::string_view path) {
  return json::Object{{"name", name}, {"hostPath", json::Object{{"path", path}, {"type", "DirectoryOrCreate"}}}};
}

json::Value host_data_volume(const Mount& mount, std::size_t index) {
  return json::Object{{"name", fmt::format("training-data-{}", index)},
                      {"hostPath", json::Object{{"path", mount.source}}}};
}

void add_data(const Submission& submission, Volumes& volumes) {
  for (const Mount& mount : submission.data) volumes.add(claim_volume(mount), mount.path);
  for (std::size_t i = 0; i < submission.data_dirs.size(); ++i)
    volumes.add(host_data_volume(submission.data_dirs[i], i), submission.data_dirs[i].path);
}

Volumes volumes_of(const Submission& submission, const PodRole& role) {
  const SubmitFlags& flags = submission.flags;
  Volumes volumes;
  if (!role.share_memory.empty())
    volumes.add(json::Object{{"name", "dshm"},
                             {"emptyDir", json::Object{{"medium", "Memory"}, {"sizeLimit", role.share_memory}}}},
                "/dev/shm");
  if (role.has_data) add_data(submission, volumes);
  if (flags.tensorboard)
    if (LogVolume logs = log_volume(submission); logs.is_new) volumes.add(std::move(logs.volume), logs.path);
  for (const ConfigFolder& folder : config_folders(submission))
    volumes.add(json::Object{{"name", folder.name}, {"configMap", json::Object{{"name", folder.name}}}}, folder.folder);
  if (!flags.sync_mode.empty())
    volumes.add(json::Object{{"name", "code-sync"}, {"emptyDir", json::Object{}}}, flags.working_dir + "/code");
  return volumes;
}

// "https://host/team/mnist.git" → "mnist"
std::string repository_of(std::string_view source) {
  while (source.ends_with('/')) source.remove_suffix(1);
  const std::size_t slash = source.find_last_of("/:");
  std::string_view name = slash == std::string_view::npos ? source : source.substr(slash + 1);
  if (name.ends_with(".git")) name.remove_suffix(4);
  return std::string(name);
}

json::Value sync_container(const Submission& submission) {
  const SubmitFlags& flags = submission.flags;
  const bool is_git = flags.sync_mode == "git";
  json::Array env;
  if (is_git) {
    env.push_back(env_var("GIT_SYNC_REPO", flags.sync_source));
    env.push_back(env_var("GIT_SYNC_DEST", repository_of(flags.sync_source)));
    env.push_back(env_var("GIT_SYNC_ROOT", "/code"));
    env.push_back(env_var("GIT_SYNC_ONE_TIME", "true"));
  }
  for (const auto& [key, value] : submission.env) env.push_back(env_var(key, value));
  // What is there already was cloned before this container was started again.
  constexpr std::string_view kClone =
      R"([ -d "/code/$GIT_SYNC_DEST/.git" ] || git clone --depth 1 ${GIT_SYNC_BRANCH:+-b "$GIT_SYNC_BRANCH"} )"
      R"("$GIT_SYNC_REPO" "/code/$GIT_SYNC_DEST")";
  json::Array command =
      is_git ? json::Array{"sh", "-c", kClone} : json::Array{"rsync", "-avP", flags.sync_source, "/code"};
  const std::string_view usual = is_git ? kGitImage : kRsyncImage;
  return json::Object{{"name", "init-code"},
                      {"image", flags.sync_image.empty() ? usual : std::string_view(flags.sync_image)},
                      {"command", std::move(command)},
                      {"env", std::move(env)},
                      {"volumeMounts", json::Array{json::Object{{"name", "code-sync"}, {"mountPath", "/code"}}}}};
}

json::Object container_of(const Submission& submission, const PodRole& role, json::Array mounts) {
  const SubmitFlags& flags = submission.flags;
  json::Object container{{"name", role.container},
                         {"image", role.image},
                         {"imagePullPolicy", flags.image_pull_policy},
                         {"workingDir", flags.working_dir}};
  if (role.runs_command) container["command"] = json::Array{flags.shell, "-c", joined(flags.command)};
  container["env"] = env_of(submission, role.gpus);
  if (json::Object resources = resources_of(submission, role); !resources.empty())
    container["resources"] = std::move(resources);
  if (flags.rdma)
    container["securityContext"] = json::Object{{"capabilities", json::Object{{"add", json::Array{"IPC_LOCK"}}}}};
  if (!mounts.empty()) container["volumeMounts"] = std::move(mounts);
  return container;
}

void add_pod_settings(const Submission& submission, const PodRole& role, json::Object& spec) {
  const SubmitFlags& flags = submission.flags;
  if (!flags.priority.empty()) spec["priorityClassName"] = flags.priority;
  if (!flags.scheduler.empty()) spec["schedulerName"] = flags.scheduler;
  const auto& selector = role.selector != nullptr && !role.selector->empty() ? *role.selector : submission.selector;
  if (!selector.empty()) spec["nodeSelector"] = to_object(selector);
  if (!submission.tolerations.empty())
    spec["tolerations"] = json::Array(submission.tolerations.begin(), submission.tolerations.end());
  if (!submission.pull_secrets.empty()) {
    json::Array secrets;
    for (const std::string& name : submission.pull_secrets) secrets.push_back(json::Object{{"name", name}});
    spec["imagePullSecrets"] = std::move(secrets);
  }
  if (flags.host_network || flags.gpu_topology) {
    spec["hostNetwork"] = true;
    spec["dnsPolicy"] = "ClusterFirstWithHostNet";
  }
  if (flags.host_ipc) spec["hostIPC"] = true;
  if (flags.host_pid) spec["hostPID"] = true;
}

}  // namespace

json::Object to_object(const std::vector<KeyValue>& pairs) {
  json::Object object;
  for (const auto& [key, value] : pairs) object[key] = value;
  return object;
}

json::Object job_labels(const Submission& submission) {
  const JobTypeInfo& info = info_of(submission.flags.type);
  json::Object labels{{"app", info.name},
                      {"chart", fmt::format("{}-{}", info.name, kChartVersion)},
                      {"release", submission.flags.name},
                      {"heritage", "Helm"},
                      {"createdBy", info.type == JobType::kEt ? info.name : info.kind}};
  for (const auto& [key, value] : submission.labels) labels[key] = value;
  return labels;
}

json::Object job_metadata(const Submission& submission) {
  const SubmitFlags& flags = submission.flags;
  json::Object labels = job_labels(submission);
  if (!submission.queue.empty()) labels[kQueueLabel] = submission.queue;
  json::Object annotations = to_object(submission.annotations);
  if (!flags.on_preempt.empty()) {
    std::string word = lower(flags.on_preempt);
    word[0] = upper(word.substr(0, 1))[0];
    annotations[api::kOnPreempt] = word;
  }
  if (!flags.min_runtime.empty()) annotations[api::kMinRuntime] = flags.min_runtime;
  if (!flags.expected_duration.empty()) annotations[api::kExpectedDuration] = flags.expected_duration;
  if (!flags.checkpoint_dir.empty()) annotations[api::kCheckpointDir] = flags.checkpoint_dir;
  if (flags.gang) annotations[api::kGang] = "true";
  if (submission.is_elastic()) {
    annotations[kMinWorkers] = std::to_string(*flags.min_workers);
    annotations[kMaxWorkers] = std::to_string(flags.max_workers.value_or(flags.workers));
  }
  json::Object metadata{{"name", flags.name}, {"namespace", flags.ns}, {"labels", std::move(labels)}};
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  return metadata;
}

std::vector<ConfigFolder> config_folders(const Submission& submission) {
  std::vector<ConfigFolder> folders;
  for (const ConfigFile& file : submission.config_files) {
    const std::string folder = file.mount.path.substr(0, file.mount.path.rfind('/'));
    auto at =
        std::find_if(folders.begin(), folders.end(), [&](const ConfigFolder& each) { return each.folder == folder; });
    if (at == folders.end()) {
      const std::string name = fmt::format("{}-{}", submission.flags.name, client::NameHash().mix(folder).text());
      at = folders.insert(folders.end(), {folder, name, {}});
    }
    at->files.push_back(&file);
  }
  return folders;
}

LogVolume log_volume(const Submission& submission) {
  const std::string& logdir = submission.flags.logdir;
  const auto holds = [&](const std::string& path) { return logdir == path || logdir.starts_with(path + "/"); };
  for (const Mount& mount : submission.data)
    if (holds(mount.path)) return {claim_volume(mount), mount.path, false};
  for (std::size_t i = 0; i < submission.data_dirs.size(); ++i)
    if (holds(submission.data_dirs[i].path))
      return {host_data_volume(submission.data_dirs[i], i), submission.data_dirs[i].path, false};
  const std::string folder = fmt::format("/arena_logs/{}-{}", submission.flags.ns, submission.flags.name);
  return {host_volume("training-logs", folder), logdir, true};
}

json::Value pod_template(const Submission& submission, const PodRole& role) {
  Volumes volumes = volumes_of(submission, role);
  json::Object spec{{"restartPolicy", "Never"}};
  if (!submission.flags.sync_mode.empty()) spec["initContainers"] = json::Array{sync_container(submission)};
  spec["containers"] = json::Array{container_of(submission, role, std::move(volumes.mounts))};
  if (!volumes.volumes.empty()) spec["volumes"] = std::move(volumes.volumes);
  add_pod_settings(submission, role, spec);
  json::Object labels = job_labels(submission);
  if (submission.flags.gang && role.gang_minimum > 0) {
    labels[api::kOldPodGroupLabel] = fmt::format("{}-{}", info_of(submission.flags.type).name, submission.flags.name);
    labels["pod-group.scheduling.sigs.k8s.io/min-available"] = std::to_string(role.gang_minimum);
  }
  json::Object annotations = to_object(submission.annotations);
  annotations["requestGPUsOfJobOwner"] = std::to_string(requested_gpus(submission));
  return json::Object{
      {"metadata", json::Object{{"labels", std::move(labels)}, {"annotations", std::move(annotations)}}},
      {"spec", std::move(spec)}};
}

}  // namespace gangway::cli::arena
