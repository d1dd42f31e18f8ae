#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/laws.h"
#include "sim/reading.h"
#include "sim/seen_jobs.h"

namespace gangway::sim {
namespace {

// One who follows jobs and their pods also through restarts.
class JobLaw : public Law {
 public:
  void on_restart(const store::Root& before, const store::Root&, const store::Root& root, Verdicts& verdicts) final {
    for (const auto& [resource, change] : changes_between(before, root, followed()))
      on_change(resource, change, root, verdicts);
  }

 private:
  // Makers before what they make.
  static const std::vector<api::ResourceName>& followed() {
    static const std::vector<api::ResourceName> all = [] {
      auto resources = job_resources();
      resources.insert(resources.end(), {"statefulsets.apps", "pods"});
      return resources;
    }();
    return all;
  }
};

class JobsEndOnce final : public JobLaw {
 public:
  void on_change(const api::ResourceName& resource, const store::Change& change, const store::Root&,
                 Verdicts& verdicts) override {
    if (change.type == store::ChangeType::kDeleted) return;
    const auto now = read_job(resource, change.now);
    if (!now) return;
    if (now->has_succeeded && now->has_failed) verdicts.broken(now->text() + " has succeeded and failed");
    if (change.type != store::ChangeType::kModified) return;
    const auto before = read_job(resource, change.before);
    if (!before) return;
    if (before->has_succeeded && !now->has_succeeded) verdicts.broken(now->text() + " had succeeded");
    if (before->has_failed && !now->has_failed) verdicts.broken(now->text() + " had failed");
    if (now->attempt < before->attempt)
      verdicts.broken(fmt::format("{} went back from attempt {} to {}", now->text(), before->attempt, now->attempt));
  }
};

// A pod of a job, as it was last seen.
struct Member {
  api::ObjectName name;
  std::string job;  // its uid
  std::int64_t attempt = 1;
  api::Revision made = 0;
};

class AttemptsDoNotOverlap final : public JobLaw {
 public:
  void on_change(const api::ResourceName& resource, const store::Change& change, const store::Root&,
                 Verdicts& verdicts) override {
    const auto& header = *change.now.header;
    families_.see(header);
    if (change.type == store::ChangeType::kDeleted) {
      if (resource == "pods") members_.erase(change.before.header->uid);
      return;
    }
    // Attempts of a batch/v1 Job's pods are each pod's own.
    if (const auto job = read_job(resource, change.now); job && resource != "jobs.batch")
      begun_[job->uid].try_emplace(job->attempt, header.revision);
    if (resource == "pods" && change.type == store::ChangeType::kAdded) see_new(change.now, verdicts);
  }

 private:
  void see_new(const api::Version& version, Verdicts& verdicts) {
    const auto job = families_.top_of(version.header->uid);
    if (!begun_.contains(job)) return;
    const Member member{version.header->name, job, attempt_of(tree_of(version)), version.header->revision};
    members_[version.header->uid] = member;
    const auto& begun = begun_[job];
    const auto since = begun.find(member.attempt);
    if (since == begun.end()) {
      if (!begun.empty() && member.attempt > begun.rbegin()->first)
        verdicts.broken(
            fmt::format("{} is of attempt {}, of which its job knows nothing", named(member.name), member.attempt));
      return;
    }
    for (const auto& [uid, other] : members_) {
      // What was asked for before may come when nobody expects it any more.
      if (other.job != job || other.attempt >= member.attempt || other.made > since->second) continue;
      verdicts.broken(fmt::format("{} of attempt {} is made while {} of attempt {} is there", named(member.name),
                                  member.attempt, named(other.name), other.attempt));
    }
  }

  Families families_;
  std::map<std::string, std::map<std::int64_t, api::Revision>> begun_;  // by job and attempt
  std::map<std::string, Member> members_;                               // by uid
};

class JobsFailForAReason final : public JobLaw {
 public:
  void on_change(const api::ResourceName& resource, const store::Change& change, const store::Root&,
                 Verdicts& verdicts) override {
    const auto& header = *change.now.header;
    families_.see(header);
    if (resource == "pods") return see_pod(change);
    if (change.type == store::ChangeType::kDeleted) return;
    if (const auto job = read_job(resource, change.now)) judge(*job, verdicts);
  }

 private:
  // What befell pods of a job that was not its own doing.
  struct Harm {
    bool was_preempted = false;
    bool was_lost = false;         // deleted, or failed with its node
    bool fails_by_itself = false;  // its program does
    bool ends_well = false;        // its program does
  };

  void see_pod(const store::Change& change) {
    const bool is_gone = change.type == store::ChangeType::kDeleted;
    const auto& version = is_gone ? change.before : change.now;
    const auto pod = tree_of(version);
    Harm& harm = harms_[families_.top_of(version.header->uid)];
    const auto told = told_end_of(pod);
    if (told && *told != 0) harm.fails_by_itself = true;
    if (told && *told == 0) harm.ends_well = true;
    const auto phase = phase_of(pod);
    const auto* mark = condition_of(pod, "DisruptionTarget");
    const bool is_preempted = mark != nullptr && json::string_at(*mark, {"reason"}) == "PreemptionByScheduler";
    const bool is_taken = (is_gone || version.header->deleting_since) && phase != "Succeeded";
    if (is_preempted) harm.was_preempted = true;
    if (!is_preempted && is_taken) harm.was_lost = true;
    if (!is_preempted && phase == "Failed" && !(told && *told != 0)) harm.was_lost = true;
  }

  void judge(const SeenJob& job, Verdicts& verdicts) {
    if (!judged_.insert({job.uid, job.is_over()}).second || !job.is_over()) return;
    Harm harm = harms_[job.uid];
    harm.fails_by_itself |= job.told_end && *job.told_end != 0;
    harm.ends_well |= job.told_end && *job.told_end == 0;
    if (job.has_succeeded && harm.fails_by_itself)
      verdicts.broken(job.text() + " has succeeded, and its program fails");
    if (job.has_succeeded && !harm.ends_well)
      verdicts.broken(job.text() + " has succeeded, and its program never ends");
    if (!job.has_failed || harm.fails_by_itself || harm.was_lost || job.has_deadline) return;
    if (harm.was_preempted && !job.comes_back) return;
    verdicts.broken(job.text() + (harm.was_preempted ? " has failed by a preemption after which it was to come back"
                                                     : " has failed, and nothing befell it"));
  }

  Families families_;
  std::map<std::string, Harm> harms_;  // by job
  std::set<std::pair<std::string, bool>> judged_;
};

// The cluster at rest, by jobs.
class JobsAreAsTheySay final : public Law {
 public:
  void at_rest(const store::Root& root, Verdicts& verdicts) override {
    Families families;
    for (const auto& resource : root.resources())
      for (const auto& version : root.objects(resource)) families.see(*version.header);
    std::map<std::string, std::vector<json::Value>> pods;
    for (const auto& version : root.objects("pods"))
      pods[families.top_of(version.header->uid)].push_back(tree_of(version));
    std::set<std::string> have_group;
    for (const auto& version : root.objects("podgroups.scheduling.x-k8s.io"))
      have_group.insert(families.top_of(version.header->uid));
    for (const auto& resource : job_resources()) {
      for (const auto& version : root.objects(resource))
        if (const auto job = read_job(resource, version))
          judge(*job, pods[job->uid], have_group.contains(job->uid), verdicts);
    }
  }

 private:
  static void judge(const SeenJob& job, const std::vector<json::Value>& pods, bool has_group, Verdicts& verdicts) {
    const auto broken = [&](const std::string& what) { verdicts.broken(job.text() + " " + what); };
    if (job.is_over()) return judge_over(job, pods, has_group, broken);
    if (job.wants_rest && !job.waits_for_user) {
      if (!job.is_suspended) broken("should be suspended");
      const auto left = std::count_if(pods.begin(), pods.end(), [&](const json::Value& pod) {
        return job.resource != "jobs.batch" || !has_ended(phase_of(pod));
      });
      if (left > 0) broken(fmt::format("is suspended and has {} pods", left));
      if (has_group) broken("is suspended and has a group");
      return;
    }
    if (job.is_suspended) broken("is suspended, and should not be");
    judge_active(job, pods, broken);
  }

  template <class Broken>
  static void judge_over(const SeenJob& job, const std::vector<json::Value>& pods, bool has_group,
                         const Broken& broken) {
    // What is kept may need its group yet.
    if (has_group && job.clean_policy != "None") broken("is over and has a group");
    if (job.clean_policy == "None") {
      // What others make for it, they also keep.
      for (const auto& pod : pods)
        if (is_its_own(job, pod) && json::string_at(pod, {"spec", "nodeName"}).empty())
          broken(fmt::format("is over and {} waits", json::string_at(pod, {"metadata", "name"})));
      return;
    }
    // What a Job has made is the Job's, and stays to be looked at.
    for (const auto& pod : pods)
      if (!has_ended(phase_of(pod)) || (job.clean_policy == "All" && !is_made_late(pod)))
        broken(fmt::format("is over and {} is {}", json::string_at(pod, {"metadata", "name"}), phase_of(pod)));
  }

  template <class Broken>
  static void judge_active(const SeenJob& job, const std::vector<json::Value>& pods, const Broken& broken) {
    std::int64_t there = 0;
    bool waits = false;
    for (const auto& pod : pods) {
      const auto name = json::string_at(pod, {"metadata", "name"});
      if (job.resource != "jobs.batch" && attempt_of(pod) != job.attempt)
        broken(fmt::format("is in attempt {}, and {} is of another", job.attempt, name));
      if (phase_of(pod) == "Pending") waits = true;
      if (phase_of(pod) == "Running" && told_end_of(pod)) broken(fmt::format("has {}, whose program never ends", name));
      if (!is_made_late(pod)) ++there;
    }
    if (there < job.wanted_pods) broken(fmt::format("has {} of {} pods", there, job.wanted_pods));
    if (!waits && !job.says_running) broken("has all that it wants and does not run");
  }

  static bool is_its_own(const SeenJob& job, const json::Value& pod) {
    const auto& owners = json::array_at(pod, {"metadata", "ownerReferences"});
    return !owners.empty() && json::string_at(owners.front(), {"uid"}) == job.uid;
  }

  // Launchers of a Job's making, submitters.
  static bool is_made_late(const json::Value& pod) {
    for (const auto& owner : json::array_at(pod, {"metadata", "ownerReferences"})) {
      if (json::string_at(owner, {"kind"}) != "Job") continue;
      const auto& labels = json::map_at(pod, {"metadata", "labels"});
      return labels.contains("mpi_role_type") || labels.contains("training.kubeflow.org/job-role") ||
             labels.contains("gangway.dev/late-member") || labels.contains("ray.io/originated-from-crd");
    }
    return false;
  }
};

}  // namespace

std::unique_ptr<Law> jobs_end_once() {
  return std::make_unique<JobsEndOnce>();
}
std::unique_ptr<Law> attempts_do_not_overlap() {
  return std::make_unique<AttemptsDoNotOverlap>();
}
std::unique_ptr<Law> jobs_fail_for_a_reason() {
  return std::make_unique<JobsFailForAReason>();
}
std::unique_ptr<Law> jobs_are_as_they_say() {
  return std::make_unique<JobsAreAsTheySay>();
}

}  // namespace gangway::sim
