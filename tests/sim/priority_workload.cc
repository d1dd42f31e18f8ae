#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/resource.h"
#include "sim/placement_wishes.h"
#include "sim/reading.h"
#include "sim/workload.h"

namespace gangway::sim {
namespace {

namespace resources = client::resources;
using std::chrono::seconds;

// Pods of several classes that are in each other's way, some with budgets that say how many of them may be disturbed.
class PriorityWorkload final : public Workload {
 public:
  explicit PriorityWorkload(User& user) : user_(user), ns_(user.name() + "-classes") {}

  void start(sys::Task done) override {
    done_ = std::move(done);
    steps_left_ = user_.random().between(8, 24);
    create_priority_classes(user_, [this] { user_.create_namespace(ns_, [this] { next(); }); });
  }

  void judge(const store::Root& root, Verdicts& verdicts) const override {
    for (const auto& [name, pod] : pods_)
      if (pod.is_deleted && !pod.was_away && root.get({"pods", {ns_, name}}))
        verdicts.broken(fmt::format("pod {}/{} should be gone", ns_, name));
  }

 private:
  struct Made {
    bool is_deleted = false;
    bool was_away = false;  // when it was: preempted, and about to come back
  };

  void next() {
    if (steps_left_-- <= 0) return done_();
    const bool hurries = user_.random().below(4) != 0;
    user_.wait(user_.random().up_to(hurries ? seconds(2) : seconds(90)), [this] {
      switch (user_.random().below(10)) {
        case 0:
          return remove_one();
        case 1:
          return make_budget();
        default:
          return make_one();
      }
    });
  }

  void make_one() {
    auto& random = user_.random();
    const auto name = fmt::format("pod-{}", ++serial_);
    json::Object annotations = some_life(random);
    add_some_wishes(random, false, annotations);
    if (random.below(6) == 0)
      annotations["gangway.dev/expected-duration"] = fmt::format("{}s", random.between(10, 300));
    json::Object spec{{"restartPolicy", random.below(2) == 0 ? "Never" : "OnFailure"},
                      {"terminationGracePeriodSeconds", random.between(0, 30)},
                      {"containers", json::Array{some_container(random)}}};
    if (random.below(6) == 0) spec["activeDeadlineSeconds"] = random.between(10, 300);
    if (const auto priority = some_class(random); !priority.empty()) spec["priorityClassName"] = priority;
    json::Object labels{{"app", fmt::format("app-{}", random.below(3))}};
    json::Object pod{{"metadata", json::Object{{"name", name},
                                               {"namespace", ns_},
                                               {"labels", std::move(labels)},
                                               {"annotations", std::move(annotations)}}},
                     {"spec", std::move(spec)}};
    user_.create(resources::kPods, std::move(pod), [this, name] {
      pods_[name] = {};
      next();
    });
  }

  void make_budget() {
    auto& random = user_.random();
    const auto app = fmt::format("app-{}", random.below(3));
    json::Object spec{{"selector", json::Object{{"matchLabels", json::Object{{"app", app}}}}}};
    spec[random.below(2) == 0 ? "minAvailable" : "maxUnavailable"] = random.between(0, 2);
    user_.create(resources::kDisruptionBudgets,
                 json::Object{{"metadata", json::Object{{"name", app}, {"namespace", ns_}}}, {"spec", std::move(spec)}},
                 [this] { next(); });
  }

  void remove_one() {
    std::vector<std::string> there;
    for (const auto& [name, pod] : pods_)
      if (!pod.is_deleted) there.push_back(name);
    if (there.empty()) return next();
    const auto name = user_.random().pick(there);
    pods_[name].is_deleted = true;
    user_.remove_and_see(resources::kPods, {ns_, name}, json::Object{},
                         [this, name](const std::optional<api::Version>& was) {
                           pods_[name].was_away = !was || is_preempted(*was);
                           next();
                         });
  }

  // Whoever deletes a pod that leaves for somebody else has not said that it should not come back.
  static bool is_preempted(const api::Version& pod) {
    return pod && condition_of(tree_of(pod), "DisruptionTarget") != nullptr;
  }

  User& user_;
  const std::string ns_;
  sys::Task done_;
  std::int64_t steps_left_ = 0;
  int serial_ = 0;
  std::map<std::string, Made> pods_;
};

}  // namespace

std::unique_ptr<Workload> priority_workload(User& user) {
  return std::make_unique<PriorityWorkload>(user);
}

}  // namespace gangway::sim
