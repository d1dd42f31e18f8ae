#include <chrono>

#include "cli/arena/render_jobs.h"
#include "cli/arena/render_pod.h"
#include "client/resource.h"

namespace gangway::cli::arena {
namespace {

json::Value ray_template(const Submission& submission, const RayRoleFlags& flags, std::string_view container) {
  PodRole role;
  role.container = container;
  role.image = flags.image.empty() ? submission.flags.image : flags.image;
  role.gpus = flags.gpus >= 0 ? flags.gpus : (container == "ray-worker" ? submission.flags.gpus : 0);
  role.cpu = flags.cpu;
  role.memory = flags.memory;
  role.share_memory = submission.flags.share_memory;
  role.has_devices = container == "ray-worker";
  // Ray starts the program; its pods only hold Ray.
  role.runs_command = false;
  json::Value pod = pod_template(submission, role);
  json::Object& spec = json::object_at(pod, {"spec"});
  spec.erase("restartPolicy");
  if (!submission.flags.ray.pre_stop_command.empty())
    spec["containers"].at(0).as_object()["lifecycle"] = json::Object{
        {"preStop",
         json::Object{{"exec", json::Object{{"command",
                                             json::Array{"/bin/sh", "-c", submission.flags.ray.pre_stop_command}}}}}}};
  return pod;
}

json::Object autoscaler_options(const RayFlags& ray) {
  const json::Object amounts{{"cpu", ray.autoscaler_cpu}, {"memory", ray.autoscaler_memory}};
  json::Object options{{"upscalingMode", ray.upscaling_mode},
                       {"idleTimeoutSeconds", ray.autoscaler_idle_seconds},
                       {"imagePullPolicy", ray.autoscaler_pull_policy},
                       {"resources", json::Object{{"requests", amounts}, {"limits", amounts}}}};
  if (!ray.autoscaler_image.empty()) options["image"] = ray.autoscaler_image;
  return options;
}

}  // namespace

json::Value ray_job(const Submission& submission) {
  const SubmitFlags& flags = submission.flags;
  const RayFlags& ray = flags.ray;
  const std::int64_t count = ray.replicas.value_or(0);
  const std::int64_t least = ray.min_replicas == 0 ? count : ray.min_replicas;
  const std::int64_t most = ray.max_replicas == 0 ? std::max(least, count) : ray.max_replicas;
  json::Object head{{"serviceType", ray.head_service_type},
                    {"rayStartParams", json::Object{}},
                    {"template", ray_template(submission, ray.head, "ray-head")}};
  json::Object workers{{"groupName", "workergroup"},
                       {"replicas", count},
                       {"minReplicas", least},
                       {"maxReplicas", most},
                       {"numOfHosts", ray.hosts},
                       {"rayStartParams", json::Object{}},
                       {"template", ray_template(submission, ray.worker, "ray-worker")}};
  json::Object cluster{{"headGroupSpec", std::move(head)}, {"workerGroupSpecs", json::Array{std::move(workers)}}};
  if (!ray.ray_version.empty()) cluster["rayVersion"] = ray.ray_version;
  if (ray.autoscaling) {
    cluster["enableInTreeAutoscaling"] = true;
    cluster["autoscalerOptions"] = autoscaler_options(ray);
  }
  std::string entrypoint;
  for (const std::string& word : flags.command) entrypoint += (entrypoint.empty() ? "" : " ") + word;
  const auto seconds = [](Duration duration) { return std::chrono::ceil<std::chrono::seconds>(duration).count(); };
  json::Object spec{{"entrypoint", entrypoint}, {"shutdownAfterJobFinishes", ray.shutdown_after_finished}};
  // The time to live is the cluster's; one that stays has none.
  if (ray.shutdown_after_finished)
    spec["ttlSecondsAfterFinished"] = seconds(submission.ttl_after_finished.value_or(std::chrono::seconds(10)));
  if (submission.active_deadline) spec["activeDeadlineSeconds"] = seconds(*submission.active_deadline);
  if (flags.retry > 0) spec["backoffLimit"] = flags.retry;
  if (ray.suspend) spec["suspend"] = true;
  spec["rayClusterSpec"] = std::move(cluster);
  const JobTypeInfo& info = info_of(JobType::kRay);
  return json::Object{{"apiVersion", client::api_version(info.resource)},
                      {"kind", info.kind},
                      {"metadata", job_metadata(submission)},
                      {"spec", std::move(spec)}};
}

}  // namespace gangway::cli::arena
