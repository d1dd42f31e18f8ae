#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/resource.h"
#include "sim/placement_wishes.h"
#include "sim/reading.h"
#include "sim/training_manifests.h"
#include "sim/workload.h"

namespace gangway::sim {
namespace {

using std::chrono::seconds;

// What there is in any namespace, and what tells of the past.
bool is_standing(const api::ResourceName& resource, const std::string& name) {
  if (resource.starts_with("events") || resource == "usagerecords.gangway.dev") return true;
  return (resource == "serviceaccounts" && name == "default") ||
         (resource == "configmaps" && name == "kube-root-ca.crt");
}

// Training jobs of all kinds, made, suspended, resumed, resized and deleted, some under a name that was used before.
// Whether they end as they should is for the laws to say; here, that there is what should be, and nothing else.
class TrainingWorkload final : public Workload {
 public:
  TrainingWorkload(User& user, std::int64_t jobs)
      : user_(user), ns_(user.name() + "-training"), jobs_left_(jobs > 0 ? jobs : user.random().between(2, 8)) {}

  void start(sys::Task done) override {
    done_ = std::move(done);
    create_priority_classes(user_, [this] { user_.create_namespace(ns_, [this] { make(); }); });
  }

  void judge(const store::Root& root, Verdicts& verdicts) const override {
    for (const auto& [name, made] : jobs_) {
      const auto where = fmt::format("{} {}/{} ", made.storage(), ns_, name);
      const auto object = root.get({made.storage(), {ns_, name}});
      if (made.is_deleted && object) verdicts.broken(where + "should be gone");
      if (!made.is_deleted && !object && !made.job.goes_by_itself) verdicts.broken(where + "is gone");
    }
    for (const auto& resource : root.resources()) {
      for (const auto& version : root.objects(resource)) {
        const auto& header = *version.header;
        if (header.name.ns != ns_ || !header.owners.empty() || is_standing(resource, header.name.name)) continue;
        if (!is_wanted(resource, version, root))
          verdicts.broken(fmt::format("{} {}/{} is left behind", resource, ns_, header.name.name));
      }
    }
  }

 private:
  struct Made {
    TrainingJob job;
    bool is_suspended = false;
    bool is_deleted = false;

    std::string storage() const { return client::resource_name(job.resource); }
  };

  bool is_wanted(const api::ResourceName& resource, const api::Version& version, const store::Root& root) const {
    const auto& name = version.header->name;
    if (const auto made = jobs_.find(name.name); made != jobs_.end() && made->second.storage() == resource) return true;
    if (resource == "endpoints") return static_cast<bool>(root.get({"services", name}));
    const auto tree = tree_of(version);
    if (resource == "allotments.gangway.dev") {
      const std::string gang(json::string_at(tree, {"spec", "gang", "name"}));
      if (json::string_at(tree, {"spec", "gang", "kind"}) == "Pod")
        return static_cast<bool>(root.get({"pods", {ns_, gang}}));
      return root.get({"podgroups.scheduling.x-k8s.io", {ns_, gang}}) || has_members(gang, root);
    }
    if (resource == "requeuedpods.gangway.dev") {
      const auto pod = root.get({"pods", {name.ns, std::string(json::string_at(tree, {"status", "pod"}))}});
      return pod && pod.header->uid == json::string_at(tree, {"status", "uid"});
    }
    return false;
  }

  // Pods that have ended stay where their job says so, and are accounted for.
  bool has_members(const std::string& gang, const store::Root& root) const {
    for (const auto& pod : root.objects("pods"))
      if (pod.header->name.ns == ns_ && pod.header->label("scheduling.x-k8s.io/pod-group") == gang) return true;
    return false;
  }

  void next() {
    if (jobs_left_ <= 0 && user_.random().below(3) == 0) return done_();
    const bool hurries = user_.random().below(3) != 0;
    user_.wait(user_.random().up_to(hurries ? seconds(5) : seconds(90)), [this] {
      switch (user_.random().below(10)) {
        case 0:
        case 1:
          return remove();
        case 2:
        case 3:
          return suspend_or_resume();
        case 4:
          return resize();
        case 5:
          return begin_anew();
        default:
          return make();
      }
    });
  }

  void make() {
    if (jobs_left_-- <= 0) return next();
    make_called(fmt::format("job{}", ++serial_));
  }

  void make_called(const std::string& name) {
    Made made{.job = some_training_job(user_.random())};
    json::Object object = made.job.object;
    auto& metadata = object["metadata"].as_object();
    metadata["name"] = name;
    metadata["namespace"] = ns_;
    user_.create(made.job.resource, std::move(object), [this, name, made] {
      jobs_[name] = made;
      next();
    });
  }

  template <class Matches>
  std::optional<std::string> pick(Matches matches) {
    std::vector<std::string> names;
    for (const auto& [name, made] : jobs_)
      if (!made.is_deleted && matches(made)) names.push_back(name);
    if (names.empty()) return std::nullopt;
    return user_.random().pick(names);
  }

  void remove_called(const std::string& name, sys::Task then) {
    Made& made = jobs_[name];
    made.is_deleted = true;
    const std::vector<std::string> policies = {"Background", "Foreground"};
    user_.remove(made.job.resource, {ns_, name}, json::Object{{"propagationPolicy", user_.random().pick(policies)}},
                 std::move(then));
  }

  void remove() {
    const auto name = pick([](const Made&) { return true; });
    if (!name) return next();
    remove_called(*name, [this] { next(); });
  }

  // Another job, of whatever kind, under the name of one that was just deleted.
  void begin_anew() {
    const auto name = pick([](const Made&) { return true; });
    if (!name || jobs_left_-- <= 0) return next();
    remove_called(*name, [this, name = *name] { await_end(name); });
  }

  void await_end(const std::string& name) {
    user_.read(jobs_[name].job.resource, {ns_, name}, [this, name](const api::Version& there) {
      if (!there) return make_called(name);
      user_.wait(seconds(1), [this, name] { await_end(name); });
    });
  }

  void suspend_or_resume() {
    const auto name = pick([](const Made& made) { return !made.job.suspend_at.empty(); });
    if (!name) return next();
    Made& made = jobs_[*name];
    made.is_suspended = !made.is_suspended;
    change(made, *name, made.job.suspend_at, made.is_suspended);
  }

  void resize() {
    const auto name = pick([](const Made& made) { return !made.job.resize_at.empty(); });
    if (!name) return next();
    // One that shrinks must have something to give up.
    const Made& made = jobs_[*name];
    const json::Value object = made.job.object;
    const bool shrinks = json::string_at(object, {"metadata", "annotations", "gangway.dev/on-preempt"}) == "Shrink";
    change(made, *name, made.job.resize_at, user_.random().between(shrinks ? 2 : 1, kMostWorkers));
  }

  void change(const Made& made, const std::string& name, const std::vector<std::string>& path, json::Value value) {
    user_.modify(
        made.job.resource, {ns_, name},
        [path, value = std::move(value), of = made.job.object](json::Value& job) {
          for (const char* key : {"apiVersion", "kind"}) job.as_object()[key] = of.at(key);
          json::Value* at = &job;
          for (const auto& step : path) at = &json::object_at(*at, {})[step];
          *at = value;
        },
        [this] { next(); });
  }

  User& user_;
  const std::string ns_;
  sys::Task done_;
  std::int64_t jobs_left_;
  int serial_ = 0;
  std::map<std::string, Made> jobs_;
};

}  // namespace

std::unique_ptr<Workload> training_workload(User& user, std::int64_t jobs) {
  return std::make_unique<TrainingWorkload>(user, jobs);
}

}  // namespace gangway::sim
