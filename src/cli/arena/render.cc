#include "cli/arena/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/arena/render_jobs.h"
#include "cli/arena/render_pod.h"
#include "json/yaml.h"

namespace gangway::cli::arena {
namespace {

constexpr std::string_view kTensorboardImage = "tensorflow/tensorflow:2.15.0";
constexpr std::int64_t kTensorboardPort = 6006;

json::Value job_of(const Submission& submission) {
  switch (submission.flags.type) {
    case JobType::kEt:
      return elastic_mpi_job(submission);
    case JobType::kPytorch:
      return pytorch_job(submission);
    case JobType::kTf:
      return tf_job(submission);
    case JobType::kRay:
      return ray_job(submission);
    case JobType::kMpi:
    case JobType::kHorovod:
      break;
  }
  return mpi_job(submission);
}

json::Object metadata_of(const Submission& submission, const std::string& name, json::Object labels) {
  return json::Object{{"name", name}, {"namespace", submission.flags.ns}, {"labels", std::move(labels)}};
}

json::Object helper_labels(const Submission& submission) {
  const JobTypeInfo& info = info_of(submission.flags.type);
  return json::Object{{"app", info.name}, {"release", submission.flags.name}, {"createdBy", "arena"}};
}

json::Value config_map(const Submission& submission, const ConfigFolder& folder) {
  json::Object data;
  for (const ConfigFile* file : folder.files) data[file->mount.path.substr(folder.folder.size() + 1)] = file->content;
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata", metadata_of(submission, folder.name, helper_labels(submission))},
                      {"data", std::move(data)}};
}

json::Object tensorboard_labels(const Submission& submission) {
  json::Object labels = helper_labels(submission);
  labels["role"] = "tensorboard";
  return labels;
}

json::Value tensorboard_service(const Submission& submission, const std::string& name) {
  const json::Object port{
      {"name", "tensorboard"}, {"port", kTensorboardPort}, {"targetPort", kTensorboardPort}, {"protocol", "TCP"}};
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", metadata_of(submission, name, tensorboard_labels(submission))},
      {"spec",
       json::Object{{"type", "NodePort"}, {"selector", tensorboard_labels(submission)}, {"ports", json::Array{port}}}}};
}

// Without the job's priority: somebody who looks at curves stops nobody's training.
json::Value tensorboard_deployment(const Submission& submission, const std::string& name) {
  const SubmitFlags& flags = submission.flags;
  LogVolume logs = log_volume(submission);
  const std::string volume(json::string_at(logs.volume, {"name"}));
  const std::string image = flags.tensorboard_image.empty() ? std::string(kTensorboardImage) : flags.tensorboard_image;
  json::Object container{{"name", "tensorboard"},
                         {"image", image},
                         {"imagePullPolicy", flags.image_pull_policy},
                         {"command", json::Array{"tensorboard", "--logdir", flags.logdir, "--host", "0.0.0.0", "--port",
                                                 std::to_string(kTensorboardPort)}},
                         {"env", json::Array{json::Object{{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "void"}}}},
                         {"ports", json::Array{json::Object{{"containerPort", kTensorboardPort}}}},
                         {"volumeMounts", json::Array{json::Object{{"name", volume}, {"mountPath", logs.path}}}}};
  json::Object spec{{"containers", json::Array{std::move(container)}},
                    {"volumes", json::Array{std::move(logs.volume)}}};
  if (!submission.tolerations.empty())
    spec["tolerations"] = json::Array(submission.tolerations.begin(), submission.tolerations.end());
  const json::Object labels = tensorboard_labels(submission);
  return json::Object{{"apiVersion", "apps/v1"},
                      {"kind", "Deployment"},
                      {"metadata", metadata_of(submission, name, labels)},
                      {"spec", json::Object{{"replicas", 1},
                                            {"selector", json::Object{{"matchLabels", labels}}},
                                            {"template", json::Object{{"metadata", json::Object{{"labels", labels}}},
                                                                      {"spec", std::move(spec)}}}}}};
}

json::Array strings(const Strings& all) {
  return json::Array(all.begin(), all.end());
}

// What was asked for, for people who want to know later.
json::Object values_of(const SubmitFlags& flags) {
  json::Object values{{"name", flags.name},
                      {"image", flags.image},
                      {"gpuCount", flags.gpus},
                      {"workers", flags.type == JobType::kRay ? flags.ray.replicas.value_or(0) : flags.workers},
                      {"retry", flags.retry},
                      {"workingDir", flags.working_dir},
                      {"command", strings(flags.command)},
                      {"shell", flags.shell}};
  const auto word = [&](std::string_view key, const std::string& text) {
    if (!text.empty()) values[key] = text;
  };
  const auto list = [&](std::string_view key, const Strings& all) {
    if (!all.empty()) values[key] = strings(all);
  };
  word("priorityClassName", flags.priority);
  word("cpu", flags.cpu);
  word("memory", flags.memory);
  word("syncMode", flags.sync_mode);
  word("syncSource", flags.sync_source);
  word("onPreempt", flags.on_preempt);
  word("checkpointDir", flags.checkpoint_dir);
  word("modelName", flags.model_name);
  word("modelSource", flags.model_source);
  list("envs", flags.env);
  list("data", flags.data);
  list("dataDirs", flags.data_dir);
  list("tolerations", flags.toleration);
  list("nodeSelectors", flags.selector);
  if (flags.min_workers) values["minWorkers"] = *flags.min_workers;
  if (flags.tensorboard) values["useTensorboard"] = true;
  if (flags.ssh_port > 0) values["sshPort"] = flags.ssh_port;
  return values;
}

std::string app_line(const json::Value& object) {
  return fmt::format("{}/{}\n",
                     printed_resource(json::string_at(object, {"kind"}), json::string_at(object, {"apiVersion"})),
                     json::string_at(object, {"metadata", "name"}));
}

json::Value record_of(const Submission& submission, const Rendered& rendered) {
  const JobTypeInfo& info = info_of(submission.flags.type);
  std::string app;
  for (const json::Value& helper : rendered.helpers) app += app_line(helper);
  app += app_line(rendered.job);
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata",
       metadata_of(submission, record_name(submission.flags.name, info.type), json::Object{{"createdBy", "arena"}})},
      {"data",
       json::Object{{"values", json::to_yaml(values_of(submission.flags))}, {"app", app}, {info.name, "0.1.0"}}}};
}

}  // namespace

std::int64_t requested_gpus(const Submission& submission) {
  const SubmitFlags& flags = submission.flags;
  switch (flags.type) {
    case JobType::kTf:
      return flags.gpus * (flags.workers + (flags.tf.chief ? 1 : 0) + (flags.tf.evaluator ? 1 : 0)) +
             flags.tf.ps_gpus * flags.tf.ps;
    case JobType::kRay:
      return std::max<std::int64_t>(0, flags.ray.head.gpus) +
             (flags.ray.worker.gpus >= 0 ? flags.ray.worker.gpus : flags.gpus) * flags.ray.replicas.value_or(0) *
                 flags.ray.hosts;
    default:
      return flags.gpus * flags.workers;
  }
}

std::string record_name(const std::string& job, JobType type) {
  return fmt::format("{}-{}", job, info_of(type).name);
}

Rendered render(const Submission& submission) {
  Rendered rendered;
  for (const ConfigFolder& folder : config_folders(submission))
    rendered.helpers.push_back(config_map(submission, folder));
  if (submission.flags.tensorboard) {
    const std::string name = submission.flags.name + "-tensorboard";
    rendered.helpers.push_back(tensorboard_service(submission, name));
    rendered.helpers.push_back(tensorboard_deployment(submission, name));
  }
  rendered.job = job_of(submission);
  rendered.record = record_of(submission, rendered);
  return rendered;
}

}  // namespace gangway::cli::arena
