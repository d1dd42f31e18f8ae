#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "client/resource.h"
#include "sim/placement_wishes.h"
#include "sim/workload.h"

namespace gangway::sim {
namespace {

namespace resources = client::resources;
using std::chrono::seconds;

// Groups of pods that start together: made as a PodGroup and its pods, as pods with the labels of older tools, or by a
// Job that makes lost ones again. Some need more than the cluster has. Whether they are placed lawfully is for the laws
// to say; what was deleted must be gone.
class GangWorkload final : public Workload {
 public:
  explicit GangWorkload(User& user) : user_(user), ns_(user.name() + "-gangs") {}

  void start(sys::Task done) override {
    done_ = std::move(done);
    steps_left_ = user_.random().between(3, 9);
    create_priority_classes(user_, [this] { user_.create_namespace(ns_, [this] { make(); }); });
  }

  void judge(const store::Root& root, Verdicts& verdicts) const override {
    for (const auto& version : root.objects("pods")) {
      const auto& name = version.header->name;
      if (name.ns != ns_) continue;
      const auto gang = gangs_.find(name.name.substr(0, name.name.find('-')));
      if (gang != gangs_.end() && gang->second.is_deleted)
        verdicts.broken(fmt::format("pod {}/{} should be gone with its gang", ns_, name.name));
    }
  }

 private:
  enum class Kind { kGroup, kOldLabels, kJob };
  struct Gang {
    Kind kind = Kind::kGroup;
    json::Object pod = {};  // what each member is made from
    std::int64_t made = 0;
    std::int64_t wanted = 0;
    bool is_deleted = false;
  };

  void next() {
    if (steps_left_-- <= 0) return done_();
    const bool hurries = user_.random().below(3) != 0;
    user_.wait(user_.random().up_to(hurries ? seconds(5) : seconds(120)), [this] {
      switch (user_.random().below(6)) {
        case 0:
          return remove();
        case 1:
          return lose_one();
        case 2:
          return add_one();
        default:
          return make();
      }
    });
  }

  void make() {
    auto& random = user_.random();
    const auto name = fmt::format("gang{}", ++serial_);
    Gang gang;
    gang.kind = random.pick(std::vector<Kind>{Kind::kGroup, Kind::kGroup, Kind::kOldLabels, Kind::kJob});
    gang.wanted = random.between(2, 5);
    const auto minimum = random.below(3) == 0 ? random.between(1, gang.wanted) : gang.wanted;
    const bool is_elastic = minimum < gang.wanted;

    json::Object labels{{"app", name}};
    json::Object annotations = some_life(random);
    if (gang.kind == Kind::kOldLabels) {
      labels["pod-group.scheduling.sigs.k8s.io/name"] = name;
      labels["pod-group.scheduling.sigs.k8s.io/min-available"] = fmt::format("{}", minimum);
      add_some_wishes(random, is_elastic, annotations);
    } else {
      labels["scheduling.x-k8s.io/pod-group"] = name;
    }
    json::Object spec{{"restartPolicy", "Never"},
                      {"terminationGracePeriodSeconds", random.between(0, 30)},
                      {"containers", json::Array{some_container(random)}}};
    if (const auto priority = some_class(random); !priority.empty()) spec["priorityClassName"] = priority;
    gang.pod = {{"metadata", json::Object{{"labels", std::move(labels)}, {"annotations", std::move(annotations)}}},
                {"spec", std::move(spec)}};
    gangs_[name] = gang;
    if (gang.kind == Kind::kOldLabels) return make_members(name);
    make_group(name, minimum, gang.wanted);
  }

  void make_group(const std::string& name, std::int64_t minimum, std::int64_t wanted) {
    auto& random = user_.random();
    json::Object annotations;
    add_some_wishes(random, minimum < wanted, annotations);
    if (minimum < wanted) annotations["gangway.dev/max-members"] = fmt::format("{}", wanted);
    json::Object group{{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                       {"kind", "PodGroup"},
                       {"metadata", json::Object{{"name", name}, {"namespace", ns_}, {"annotations", annotations}}},
                       {"spec", json::Object{{"minMember", minimum}}}};
    user_.create(kPodGroups, std::move(group), [this, name] {
      if (gangs_[name].kind == Kind::kJob) return make_job(name);
      make_members(name);
    });
  }

  void make_members(const std::string& name) {
    Gang& gang = gangs_[name];
    if (gang.made >= gang.wanted) return next();
    json::Object pod = gang.pod;
    auto& metadata = pod["metadata"].as_object();
    metadata["name"] = fmt::format("{}-{}", name, gang.made++);
    metadata["namespace"] = ns_;
    user_.create(resources::kPods, std::move(pod), [this, name] { make_members(name); });
  }

  // The Job makes again what was evicted or lost.
  void make_job(const std::string& name) {
    const Gang& gang = gangs_[name];
    json::Object job{{"metadata", json::Object{{"name", name}, {"namespace", ns_}}},
                     {"spec", json::Object{{"completions", gang.wanted},
                                           {"parallelism", gang.wanted},
                                           {"completionMode", "Indexed"},
                                           {"backoffLimit", 1000},
                                           {"template", gang.pod}}}};
    user_.create(resources::kJobs, std::move(job), [this] { next(); });
  }

  std::vector<std::string> living(bool with_jobs) const {
    std::vector<std::string> names;
    for (const auto& [name, gang] : gangs_)
      if (!gang.is_deleted && (with_jobs || gang.kind != Kind::kJob)) names.push_back(name);
    return names;
  }

  void remove() {
    const auto names = living(true);
    if (names.empty()) return next();
    const auto name = user_.random().pick(names);
    Gang& gang = gangs_[name];
    gang.is_deleted = true;
    if (gang.kind != Kind::kJob) return remove_members(name, 0);
    user_.remove(resources::kJobs, {ns_, name}, json::Object{{"propagationPolicy", "Background"}},
                 [this, name] { remove_group(name); });
  }

  void remove_members(const std::string& name, std::int64_t index) {
    if (index >= gangs_[name].made) return remove_group(name);
    user_.remove(resources::kPods, {ns_, fmt::format("{}-{}", name, index)}, json::Object{},
                 [this, name, index] { remove_members(name, index + 1); });
  }

  void remove_group(const std::string& name) {
    if (gangs_[name].kind == Kind::kOldLabels) return next();
    user_.remove(kPodGroups, {ns_, name}, json::Object{}, [this] { next(); });
  }

  void lose_one() {
    const auto names = living(false);
    if (names.empty()) return next();
    const auto name = user_.random().pick(names);
    const auto index = user_.random().between(0, gangs_[name].made - 1);
    user_.remove(resources::kPods, {ns_, fmt::format("{}-{}", name, index)}, json::Object{}, [this] { next(); });
  }

  void add_one() {
    const auto names = living(false);
    if (names.empty()) return next();
    const auto name = user_.random().pick(names);
    ++gangs_[name].wanted;
    make_members(name);
  }

  User& user_;
  const std::string ns_;
  sys::Task done_;
  std::int64_t steps_left_ = 0;
  int serial_ = 0;
  std::map<std::string, Gang> gangs_;
};

}  // namespace

std::unique_ptr<Workload> gang_workload(User& user) {
  return std::make_unique<GangWorkload>(user);
}

}  // namespace gangway::sim
