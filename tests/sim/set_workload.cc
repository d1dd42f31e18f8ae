#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/resource.h"
#include "sim/workload.h"

namespace gangway::sim {
namespace {

namespace resources = client::resources;
using std::chrono::seconds;

// A Deployment or StatefulSet as its user wants it.
struct Wish {
  bool stateful = false;
  std::int64_t replicas = 0;
  int version = 0;  // of the template
  bool deleted = false;

  const client::Resource& resource() const { return stateful ? resources::kStatefulSets : resources::kDeployments; }
  std::string storage() const { return stateful ? "statefulsets.apps" : "deployments.apps"; }
};

// They ask for nothing, so that there is room for them whatever else runs.
json::Value template_of(const std::string& name, int version, std::int64_t grace) {
  return json::Object{
      {"metadata", json::Object{{"labels", json::Object{{"app", name}}},
                                {"annotations", json::Object{{"version", std::to_string(version)}}}}},
      {"spec", json::Object{{"terminationGracePeriodSeconds", grace},
                            {"containers", json::Array{json::Object{{"name", "main"}, {"image", "busybox"}}}}}}};
}

// Sets that are made, scaled, rolled out and deleted.
class SetWorkload final : public Workload {
 public:
  explicit SetWorkload(User& user) : user_(user), ns_(user.name() + "-sets") {}

  void start(sys::Task done) override {
    done_ = std::move(done);
    steps_left_ = user_.random().between(3, 16);
    user_.create_namespace(ns_, [this] { make(); });
  }

  void judge(const store::Root& root, Verdicts& verdicts) const override {
    std::map<std::string, std::vector<json::Value>> pods;  // by the set's name
    for (const auto& version : root.objects("pods")) {
      if (version.header->name.ns == ns_)
        pods[std::string(version.header->label("app"))].push_back(*json::parse(*version.json));
    }
    for (const auto& [name, wish] : sets_) judge_set(name, wish, pods[name], root, verdicts);
  }

 private:
  void judge_set(const std::string& name, const Wish& wish, const std::vector<json::Value>& pods,
                 const store::Root& root, Verdicts& verdicts) const {
    const auto where = fmt::format("{} {}/{}", wish.storage(), ns_, name);
    const auto broken = [&](const std::string& what) { verdicts.broken(where + " " + what); };
    const auto set = root.get({wish.storage(), {ns_, name}});
    if (wish.deleted) {
      if (set) broken("should be gone");
      if (!pods.empty()) broken(fmt::format("is gone and has {} pods", pods.size()));
      return;
    }
    if (!set) return broken("should be there");
    std::set<std::string> names;
    std::int64_t running = 0;
    for (const auto& pod : pods) {
      const auto phase = json::string_at(pod, {"status", "phase"});
      // What failed with its node may stay, to be looked at.
      if (phase == "Failed" || phase == "Succeeded") continue;
      names.emplace(json::string_at(pod, {"metadata", "name"}));
      if (phase == "Running") ++running;
      if (json::string_at(pod, {"metadata", "annotations", "version"}) != std::to_string(wish.version))
        broken(fmt::format("still has {} of an older template", json::string_at(pod, {"metadata", "name"})));
    }
    if (running != wish.replicas || static_cast<std::int64_t>(names.size()) != wish.replicas)
      broken(fmt::format("should have {} pods, has {} and {} run", wish.replicas, names.size(), running));
    if (wish.stateful) {
      for (std::int64_t i = 0; i < wish.replicas; ++i)
        if (!names.contains(fmt::format("{}-{}", name, i))) broken(fmt::format("has no pod {}", i));
    }
    judge_status(wish, *json::parse(*set.json), broken);
  }

  template <class Broken>
  static void judge_status(const Wish& wish, const json::Value& set, const Broken& broken) {
    const auto number = [&](std::initializer_list<std::string_view> path) {
      const auto* value = json::find(set, path);
      return value != nullptr && value->is_int64() ? value->get_int64() : 0;
    };
    for (const auto* field : {"replicas", "readyReplicas", "updatedReplicas", "availableReplicas"}) {
      const auto told = number({"status", field});
      if (told != wish.replicas) broken(fmt::format("should tell {} {}, tells {}", wish.replicas, field, told));
    }
    if (number({"status", "observedGeneration"}) != number({"metadata", "generation"}))
      broken("has not seen its last change");
  }

  void next() {
    if (steps_left_-- <= 0) return done_();
    const bool hurries = user_.random().below(3) != 0;
    user_.wait(user_.random().up_to(hurries ? seconds(3) : seconds(90)), [this] {
      switch (user_.random().below(6)) {
        case 0:
          return make();
        case 1:
          return remove();
        case 2:
          return kill_a_pod();
        case 3:
          return change([](Wish& wish, testing::Random&) { ++wish.version; });
        default:
          return change([](Wish& wish, testing::Random& random) { wish.replicas = random.between(0, 5); });
      }
    });
  }

  void make() {
    auto& random = user_.random();
    const auto name = fmt::format("set-{}", ++serial_);
    Wish wish;
    wish.stateful = random.below(2) == 0;
    wish.replicas = random.between(0, 4);
    const auto grace = random.between(0, 20);
    json::Object spec{{"replicas", wish.replicas},
                      {"selector", json::Object{{"matchLabels", json::Object{{"app", name}}}}},
                      {"template", template_of(name, 0, grace)}};
    if (wish.stateful) {
      spec["serviceName"] = name;
      spec["podManagementPolicy"] = random.below(2) == 0 ? "Parallel" : "OrderedReady";
    } else if (random.below(3) == 0) {
      spec["strategy"] = json::Object{{"type", "Recreate"}};
    }
    json::Object object{{"metadata", json::Object{{"name", name}, {"namespace", ns_}}}, {"spec", std::move(spec)}};
    user_.create(wish.resource(), std::move(object), [this, name, wish] {
      sets_[name] = wish;
      next();
    });
  }

  std::vector<std::string> living() const {
    std::vector<std::string> names;
    for (const auto& [name, wish] : sets_)
      if (!wish.deleted) names.push_back(name);
    return names;
  }

  void change(const std::function<void(Wish&, testing::Random&)>& edit) {
    const auto names = living();
    if (names.empty()) return next();
    const auto name = user_.random().pick(names);
    auto& wish = sets_[name];
    edit(wish, user_.random());
    user_.modify(
        wish.resource(), {ns_, name},
        [wish](json::Value& set) {
          json::object_at(set, {"spec"})["replicas"] = wish.replicas;
          json::object_at(set, {"spec", "template", "metadata", "annotations"})["version"] =
              std::to_string(wish.version);
        },
        [this] { next(); });
  }

  void remove() {
    const auto names = living();
    if (names.empty()) return next();
    const auto name = user_.random().pick(names);
    sets_[name].deleted = true;
    const std::vector<std::string> policies = {"Background", "Foreground"};
    user_.remove(sets_[name].resource(), {ns_, name},
                 json::Object{{"propagationPolicy", user_.random().pick(policies)}}, [this] { next(); });
  }

  // By name: of a StatefulSet it comes back under the same.
  void kill_a_pod() {
    const auto names = living();
    if (names.empty()) return next();
    const auto name = user_.random().pick(names);
    if (!sets_[name].stateful || sets_[name].replicas == 0) return next();
    const auto pod = fmt::format("{}-{}", name, user_.random().between(0, sets_[name].replicas - 1));
    user_.remove(resources::kPods, {ns_, pod}, json::Object{}, [this] { next(); });
  }

  User& user_;
  const std::string ns_;
  sys::Task done_;
  std::int64_t steps_left_ = 0;
  int serial_ = 0;
  std::map<std::string, Wish> sets_;
};

}  // namespace

std::unique_ptr<Workload> set_workload(User& user) {
  return std::make_unique<SetWorkload>(user);
}

}  // namespace gangway::sim
