#include "cli/arena/job_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "cli/arena/instance.h"
#include "cli/arena/job_status.h"
#include "cli/arena/text.h"

namespace gangway::cli::arena {
namespace {

JobType type_of(const json::Value& object, const JobKind& kind) {
  // Types that share a kind are told apart by who submitted them.
  const auto said = job_type_of(json::string_at(object, {"metadata", "labels", "app"}));
  return said && info_of(*said).kind == kind.kind ? *said : kind.type;
}

bool speaks_for_job(const Instance& instance, const std::vector<JobRole>& roles, JobType type) {
  if (type == JobType::kRay) return instance.role == "submitter";
  for (const JobRole& role : roles)
    if (role.is_chief) return role.name == instance.role;
  return instance.role == "worker" && instance.name.ends_with("-worker-0");
}

// Of several that speak for the job, attempts of one launcher, the newest that has started does.
void choose_chief(JobView& job, const std::vector<JobRole>& roles) {
  Instance* chief = nullptr;
  for (Instance& instance : job.instances) {
    if (!speaks_for_job(instance, roles, job.type)) continue;
    const auto rank = [](const Instance& one) { return std::pair(one.phase != "Pending", one.created); };
    if (chief == nullptr || rank(instance) > rank(*chief)) chief = &instance;
  }
  // A Ray job whose program is not handed over by a pod is spoken for by its head.
  if (chief == nullptr && job.type == JobType::kRay)
    for (Instance& instance : job.instances)
      if (instance.role == "head") chief = &instance;
  if (chief != nullptr) chief->is_chief = true;
  std::sort(job.instances.begin(), job.instances.end(), [](const Instance& a, const Instance& b) {
    return a.is_chief != b.is_chief ? a.is_chief : natural_less(a.name, b.name);
  });
}

void count(JobView& job, const std::vector<JobRole>& roles) {
  job.attempt = std::max<std::int64_t>(1, json::integer_at(job.object, {"status", "gangway", "attempt"}, 1));
  for (const JobRole& role : roles) {
    job.desired += role.count;
    job.requested_gpus += role.count * role.gpus;
  }
  for (const Instance& instance : job.instances) {
    if (instance.holds_gpus) job.allocated_gpus += instance.gpus;
    if (instance.phase == "Running" && !instance.is_ending) ++job.running;
    if (instance.phase == "Succeeded") ++job.done;
    job.attempt = std::max(job.attempt, instance.attempt);
  }
}

// Who reports for all: of the newest attempt, one that still runs, the chief before the others. What an earlier attempt
// had reached says nothing once the next has begun to report.
void note_reports(JobView& job, WallTime now) {
  const Instance* speaker = nullptr;
  const auto rank = [](const Instance& one) {
    return std::tuple(one.attempt, one.phase == "Running" && !one.is_ending, one.is_chief);
  };
  for (const Instance& instance : job.instances) {
    if (instance.progress && (speaker == nullptr || rank(instance) > rank(*speaker))) speaker = &instance;
    if (instance.checkpoint && (!job.checkpoint || instance.checkpoint->at > job.checkpoint->at))
      job.checkpoint = instance.checkpoint;
  }
  if (speaker == nullptr) return;
  job.progress = speaker->progress;
  if (job.status == "RUNNING") job.estimated_end = estimated_end(*job.progress, now);
}

// Where a browser finds it: a port of any node that is ready.
std::string tensorboard_of(const JobView& job, const ReadObjects& objects) {
  std::int64_t port = 0;
  for (const json::Value& service : objects.services) {
    if (json::string_at(service, {"metadata", "name"}) != job.name + "-tensorboard" ||
        json::string_at(service, {"metadata", "namespace"}) != job.ns)
      continue;
    for (const json::Value& each : json::array_at(service, {"spec", "ports"}))
      port = json::integer_at(each, {"nodePort"});
  }
  if (port == 0) return "";
  for (const json::Value& node : objects.nodes)
    for (const json::Value& address : json::array_at(node, {"status", "addresses"}))
      if (json::string_at(address, {"type"}) == "InternalIP")
        return fmt::format("http://{}:{}", json::string_at(address, {"address"}), port);
  return "";
}

bool runs(const JobView& job, std::string_view instance) {
  return std::any_of(job.instances.begin(), job.instances.end(), [&](const Instance& each) {
    return each.name == instance && each.phase == "Running" && !each.is_ending;
  });
}

void tell_preemption(JobView& job, const ReadObjects& objects) {
  std::string by;
  for (const json::Value& pod : objects.requeued_pods) {
    if (json::string_at(pod, {"metadata", "namespace"}) != job.ns) continue;
    const std::string_view owner = json::string_at(pod, {"spec", "owner", "name"});
    if (owner != job.name && json::string_at(pod, {"spec", "group"}) != job.name &&
        !is_named_after(job.name, json::string_at(pod, {"spec", "pod"})))
      continue;
    by = json::string_at(pod, {"spec", "by"});
    job.attempt = std::max(job.attempt, json::integer_at(pod, {"spec", "attempt"}));
  }
  std::string_view newest;
  std::string told;
  for (const json::Value& event : objects.events) {
    if (json::string_at(event, {"involvedObject", "namespace"}) != job.ns) continue;
    if (!is_named_after(job.name, json::string_at(event, {"involvedObject", "name"}))) continue;
    if (json::string_at(event, {"reason"}) != "Preempted") continue;
    // Of a job that had this name before, or of a pod that has come back since.
    if (time_at(event, {"metadata", "creationTimestamp"}) < job.created) continue;
    if (runs(job, json::string_at(event, {"involvedObject", "name"}))) continue;
    const std::string_view when = json::string_at(event, {"metadata", "creationTimestamp"});
    if (when < newest) continue;
    newest = when;
    told = fmt::format("{} was preempted {}", json::string_at(event, {"involvedObject", "name"}),
                       json::string_at(event, {"message"}));
  }
  note_preemption(job, by, told);
}

JobView view_of(json::Value object, const JobKind& kind, const client::Resource& resource,
                std::vector<Instance> instances, WallTime now) {
  JobView job;
  job.type = type_of(object, kind);
  job.resource = resource;
  job.ns = json::string_at(object, {"metadata", "namespace"});
  job.name = json::string_at(object, {"metadata", "name"});
  job.uid = json::string_at(object, {"metadata", "uid"});
  job.created = time_at(object, {"metadata", "creationTimestamp"});
  job.priority = priority_class_of(object);
  if (job.priority.empty()) job.priority = "N/A";
  job.object = std::move(object);
  job.instances = std::move(instances);
  const std::vector<JobRole> roles = roles_of(job.object);
  choose_chief(job, roles);
  count(job, roles);
  judge(job, roles, now);
  note_reports(job, now);
  return job;
}

}  // namespace

const Instance* JobView::chief() const {
  return !instances.empty() && instances.front().is_chief ? &instances.front() : nullptr;
}

bool is_named_after(std::string_view job, std::string_view pod) {
  if (!pod.starts_with(job) || pod.size() <= job.size() + 1 || pod[job.size()] != '-') return false;
  const std::string_view rest = pod.substr(job.size() + 1);
  const std::size_t dash = rest.find('-');
  // One word behind the role, an index or letters: more of them belong to a job with a longer name.
  if (dash != std::string_view::npos && rest.find('-', dash + 1) != std::string_view::npos) return false;
  for (const std::string_view role : {"launcher", "worker", "master", "chief", "ps", "evaluator", "head"})
    if (rest.substr(0, dash) == role) return true;
  return false;
}

std::vector<JobView> view_jobs(ReadObjects objects, WallTime now) {
  std::map<std::string, std::vector<Instance>, std::less<>> pods;
  for (const json::Value& pod : objects.pods)
    if (std::string key = owner_key(pod); !key.empty()) pods[std::move(key)].push_back(instance_of(pod));
  const auto take = [&](const std::string& key, std::vector<Instance>& into) {
    const auto at = pods.find(key);
    if (at == pods.end()) return;
    std::move(at->second.begin(), at->second.end(), std::back_inserter(into));
    at->second.clear();
  };
  std::vector<JobView> jobs;
  for (ReadObjects::Jobs& listed : objects.jobs) {
    for (json::Value& object : listed.items) {
      const JobKind* kind = job_kind(json::string_at(object, {"kind"}));
      if (kind == nullptr) continue;
      const std::string_view ns = json::string_at(object, {"metadata", "namespace"});
      std::vector<Instance> instances;
      take(fmt::format("{}/{}/{}", kind->kind, ns, json::string_at(object, {"metadata", "name"})), instances);
      if (const auto cluster = json::string_at(object, {"status", "rayClusterName"}); !cluster.empty())
        take(fmt::format("RayCluster/{}/{}", ns, cluster), instances);
      jobs.push_back(view_of(std::move(object), *kind, listed.resource, std::move(instances), now));
    }
  }
  for (JobView& job : jobs) {
    tell_preemption(job, objects);
    job.tensorboard = tensorboard_of(job, objects);
  }
  std::sort(jobs.begin(), jobs.end(), [](const JobView& a, const JobView& b) {
    return std::tie(b.created, a.ns, a.name, a.type) < std::tie(a.created, b.ns, b.name, b.type);
  });
  return jobs;
}

}  // namespace gangway::cli::arena
