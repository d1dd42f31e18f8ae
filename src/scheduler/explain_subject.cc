#include "scheduler/explain_subject.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/pod_phase.h"
#include "client/resource.h"
#include "scheduler/facts.h"
#include "scheduler/listed_model.h"
#include "scheduler/pod_notes.h"
#include "scheduler/scheduler.h"
#include "scheduler/wait_text.h"

namespace gangway::scheduler {
namespace {

using client::View;
using client::resources::kDeployments;
using client::resources::kEvents;
using client::resources::kJobs;
using client::resources::kPods;
using client::resources::kReplicaSets;
using client::resources::kStatefulSets;
using planning::GangId;
using planning::kNone;
using planning::PodId;

constexpr std::size_t kNamesListed = 10;
constexpr std::size_t kNotesOnPods = 8;

Error not_found(const View& view, const SubjectKind& kind, const api::ObjectName& name) {
  std::vector<std::string> here;
  std::vector<std::string> elsewhere;
  for (const auto& [other, version] : view.objects(kind.resource).all()) {
    if (other.ns == name.ns && here.size() < kNamesListed) here.push_back(other.name);
    if (other.name == name.name) elsewhere.push_back(other.ns);
  }
  Error error;
  error.reason = Reason::kNotFound;
  error.message = fmt::format("{} {}/{} does not exist; ", kind.word, name.ns, name.name);
  if (!elsewhere.empty()) {
    error.message += fmt::format("one of that name is in namespace {} (-n)", fmt::join(elsewhere, ", "));
  } else if (here.empty()) {
    error.message += fmt::format("there is no {} in namespace {}", kind.word, name.ns);
  } else {
    error.message += fmt::format("in namespace {} there are: {}", name.ns, fmt::join(here, ", "));
  }
  return error;
}

std::vector<api::Version> members_of_group(const View& view, const api::ObjectName& group) {
  std::vector<api::Version> members;
  const auto& pods = view.objects(kPods);
  for (const api::Version& pod : pods.in_namespace(group.ns))
    if (pods.facts(pod, read_pod)->group == group.name) members.push_back(pod);
  return members;
}

std::vector<api::Version> pods_of(const View& view, const SubjectKind& kind, const api::Version& subject,
                                  const api::ObjectName& name) {
  if (kind.resource == kPodGroups) return members_of_group(view, name);
  if (kind.resource == kPods) return {subject};
  if (kind.resource != kDeployments) return view.objects(kPods).owned_by(subject.header->uid);
  std::vector<api::Version> pods;
  for (const api::Version& set : view.objects(kReplicaSets).owned_by(subject.header->uid))
    for (api::Version& pod : view.objects(kPods).owned_by(set.header->uid)) pods.push_back(std::move(pod));
  return pods;
}

// That of the pods that wait: who else plans for them cannot be known from here.
std::string scheduler_of(const View& view, const std::vector<api::Version>& pods) {
  for (const api::Version& pod : pods)
    if (!api::has_ended(*pod.header) && pod.header->field("spec.nodeName").empty())
      return view.objects(kPods).facts(pod, read_pod)->scheduler;
  return Scheduler::kDefaultName;
}

// Pods that nothing distinguishes are explained once.
using Likeness = std::tuple<const planning::PodShape*, std::int64_t, bool>;

class SubjectReport {
 public:
  SubjectReport(const View& view, const std::vector<api::Version>& pods, Explanation& explanation)
      : view_(view),
        pods_(pods),
        model_(model_of(view, scheduler_of(view, pods))),
        snapshot_(model_->snapshot()),
        explainer_(snapshot_, model_->policies(), priority_classes(view)),
        explanation_(explanation) {
    for (PodId id = 0; id < snapshot_.pods.size(); ++id)
      if (!snapshot_.pods[id].name.empty()) known_[{snapshot_.pods[id].ns, snapshot_.pods[id].name}] = id;
  }

  void run() {
    note_pods();
    std::set<GangId> seen;
    for (const api::Version& pod : pods_) {
      const auto at = known_.find(pod.header->name);
      if (at == known_.end()) continue;
      const GangId gang = snapshot_.pods[at->second].gang;
      if (!seen.insert(gang).second) continue;
      tell_waits(gang, at->second);
      tell_runs(gang);
    }
  }

 private:
  void note_pods() {
    std::size_t more = 0;
    for (const api::Version& pod : pods_) {
      // Of a job, those that have done their part are not worth a word each.
      if (explanation_.kind != "Pod" && pod.header->field("status.phase") == "Succeeded") continue;
      std::vector<std::string> notes = notes_on_pod(view_, pod);
      if (const auto at = known_.find(pod.header->name); at != known_.end())
        if (const auto refusal = model_->refusals().find(at->second); refusal != model_->refusals().end())
          notes.push_back(fmt::format("pod {} cannot be placed: {}", pod.header->name.name, refusal->second));
      for (std::string& note : notes) {
        if (++more <= kNotesOnPods) explanation_.notes.push_back(std::move(note));
      }
    }
    if (more > kNotesOnPods) explanation_.notes.push_back(fmt::format("and {} more like these", more - kNotesOnPods));
  }

  void tell_waits(GangId gang, PodId asked) {
    const std::vector<PodId> waiting = waiting_members(snapshot_, gang);
    if (waiting.empty()) return;
    const planning::Gang& facts = snapshot_.gangs[gang];
    Asker asker{gang, kNone};
    const bool is_growing = planning::running_of(snapshot_, facts) >= facts.min_members;
    const bool asked_waits = std::find(waiting.begin(), waiting.end(), asked) != waiting.end();
    // A gang that runs wants no more than to grow: then every member is a question of its own.
    if (is_growing) asker.pod = asked_waits ? asked : waiting.front();
    if (facts.is_plain) {
      const planning::Pod& pod = snapshot_.pods[waiting.front()];
      const Likeness likeness{pod.shape.get(), pod.priority, pod.never_preempts};
      const auto [at, is_first] = alike_.emplace(likeness, explanation_.waits.size());
      if (!is_first) return explanation_.waits[at->second].pods.push_back(pod.name);
    }
    asker.node_selector = node_selector_of(view_, snapshot_.pods[waiting.front()]);
    explanation_.waits.push_back(explainer_.why_waits(asker));
  }

  void tell_runs(GangId gang) {
    const planning::Gang& facts = snapshot_.gangs[gang];
    if (std::none_of(facts.members.begin(), facts.members.end(),
                     [&](PodId pod) { return snapshot_.pods[pod].node != kNone; }))
      return;
    RunReport report = explainer_.how_it_runs(gang);
    if (facts.is_plain)
      for (RunReport& other : explanation_.runs) {
        if (other.gang.kind != "Pod" || other.priority != report.priority || other.protection != report.protection ||
            other.promised_to != report.promised_to || other.budgets != report.budgets)
          continue;
        other.places.insert(other.places.end(), report.places.begin(), report.places.end());
        other.lost_gpu_seconds += report.lost_gpu_seconds;
        return;
      }
    explanation_.runs.push_back(std::move(report));
  }

  const View& view_;
  const std::vector<api::Version>& pods_;
  std::unique_ptr<ClusterModel> model_;
  const planning::Snapshot& snapshot_;
  GangExplainer explainer_;
  Explanation& explanation_;
  std::map<api::ObjectName, PodId> known_;
  std::map<Likeness, std::size_t> alike_;
};

}  // namespace

const std::vector<SubjectKind>& subject_kinds() {
  static const std::vector<SubjectKind> kKinds{
      {"pod", "Pod", kPods},
      {"podgroup", "PodGroup", kPodGroups},
      {"job", "Job", kJobs},
      {"deployment", "Deployment", kDeployments},
      {"replicaset", "ReplicaSet", kReplicaSets},
      {"statefulset", "StatefulSet", kStatefulSets},
  };
  return kKinds;
}

Result<SubjectKind> subject_kind(std::string_view word) {
  static const std::map<std::string, std::string_view, std::less<>> kShort{
      {"po", "pod"}, {"pg", "podgroup"}, {"deploy", "deployment"}, {"rs", "replicaset"}, {"sts", "statefulset"}};
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (const auto at = kShort.find(lower); at != kShort.end()) lower = at->second;
  std::vector<std::string_view> known;
  for (const SubjectKind& kind : subject_kinds()) {
    if (lower == kind.word || lower == kind.resource.plural) return kind;
    known.push_back(kind.word);
  }
  return bad_request(fmt::format("\"{}\" cannot be explained; these can: {}", word, fmt::join(known, ", ")));
}

std::vector<client::Resource> subject_resources() {
  return {kJobs, kDeployments, kReplicaSets, kStatefulSets, kEvents};
}

Result<Explanation> explain(const View& view, const SubjectKind& kind, const api::ObjectName& name) {
  const api::Version subject = view.get(kind.resource, name);
  // Older labels make gangs without an object.
  const bool is_known = subject || (kind.resource == kPodGroups && !members_of_group(view, name).empty());
  if (!is_known) return not_found(view, kind, name);
  Explanation explanation{.kind = std::string(kind.kind), .ns = name.ns, .name = name.name, .now = view.now()};
  const std::vector<api::Version> pods = pods_of(view, kind, subject, name);
  if (kind.resource != kPods && subject)
    explanation.notes = notes_on_workload(view, explanation.kind, subject, pods.size());
  SubjectReport(view, pods, explanation).run();
  return explanation;
}

std::string to_text(const Explanation& explanation) {
  std::string text;
  const bool is_one_pod = explanation.kind == "Pod";
  if (!is_one_pod || !explanation.notes.empty())
    text += fmt::format("{} {}/{}\n", explanation.kind, explanation.ns, explanation.name);
  for (const std::string& note : explanation.notes) text += "  " + note + "\n";
  for (const WaitReport& wait : explanation.waits) text += to_text(wait, explanation.now);
  for (const RunReport& run : explanation.runs) text += to_text(run, explanation.now);
  return text;
}

json::Value to_json(const Explanation& explanation) {
  json::Array waits;
  for (const WaitReport& wait : explanation.waits) waits.push_back(to_document(wait));
  json::Array runs;
  for (const RunReport& run : explanation.runs) runs.push_back(to_document(run));
  return json::Object{{"kind", explanation.kind},  {"namespace", explanation.ns},
                      {"name", explanation.name},  {"notes", array_of(explanation.notes)},
                      {"waits", std::move(waits)}, {"runs", std::move(runs)}};
}

}  // namespace gangway::scheduler
