#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/resource.h"
#include "sim/workload.h"

namespace gangway::sim {
namespace {

namespace resources = client::resources;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Pods without anybody who would replace them: what becomes of each is known from what it says of itself.
class PodWorkload final : public Workload {
 public:
  explicit PodWorkload(User& user) : user_(user), ns_(user.name() + "-pods") {}

  void start(sys::Task done) override {
    done_ = std::move(done);
    steps_left_ = user_.random().between(4, 24);
    user_.create_namespace(ns_, [this] { next(); });
  }

  void judge(const store::Root& root, Verdicts& verdicts) const override {
    for (const auto& [name, wish] : pods_) {
      const auto version = root.get({"pods", {ns_, name}});
      if (wish.deleted && version) verdicts.broken(fmt::format("pod {}/{} should be gone", ns_, name));
      if (wish.deleted) continue;
      // Without a controller nobody brings back what an eviction took.
      if (!version && !wish.may_be_evicted) verdicts.broken(fmt::format("pod {}/{} is gone", ns_, name));
      if (version) judge_phase(name, wish, *json::parse(*version.json), verdicts);
    }
  }

 private:
  struct Wish {
    bool ends = false;
    bool well = true;
    std::string restart_policy;
    bool deleted = false;
    bool may_be_evicted = true;
  };

  // What the pod must be, once nothing more happens.
  void judge_phase(const std::string& name, const Wish& wish, const json::Value& pod, Verdicts& verdicts) const {
    const auto phase = json::string_at(pod, {"status", "phase"});
    const auto wrong = [&] { verdicts.broken(fmt::format("pod {}/{} is {} in the end", ns_, name, phase)); };
    const bool waits = phase == "Pending";
    if (!wish.ends) return phase == "Running" || waits || phase == "Failed" ? void() : wrong();
    if (wish.restart_policy == "Always" || (wish.restart_policy == "OnFailure" && !wish.well)) return;
    const auto end = wish.well ? "Succeeded" : "Failed";
    if (phase != end && !waits && phase != "Failed") wrong();
  }

  void next() {
    if (steps_left_-- <= 0) return done_();
    const bool hurries = user_.random().below(3) != 0;
    user_.wait(user_.random().up_to(hurries ? seconds(1) : seconds(60)), [this] {
      if (user_.random().below(4) == 0) return remove_one();
      make_one();
    });
  }

  void make_one() {
    auto& random = user_.random();
    const auto name = fmt::format("pod-{}", ++serial_);
    Wish wish;
    json::Object annotations;
    if (random.below(3) != 0) {
      wish.ends = true;
      wish.well = random.below(3) != 0;
      annotations["gangway.dev/simulated-duration"] = fmt::format("{}s", random.between(1, 180));
      annotations["gangway.dev/simulated-exit-code"] = wish.well ? "0" : "3";
    }
    if (random.below(3) == 0)
      annotations["gangway.dev/simulated-termination"] = fmt::format("{}s", random.between(1, 40));
    // A pod that fails and is started again for ever is never at rest.
    wish.restart_policy = wish.ends ? "Never" : random.pick(std::vector<std::string>{"Never", "OnFailure", "Always"});
    json::Object requests{{"cpu", fmt::format("{}", random.between(1, 4))},
                          {"memory", fmt::format("{}Gi", random.between(1, 8))}};
    json::Object limits;
    if (random.below(2) == 0) {
      const auto gpus = fmt::format("{}", random.between(1, 2));
      requests["nvidia.com/gpu"] = gpus;
      limits["nvidia.com/gpu"] = gpus;
    }
    json::Object pod{
        {"metadata", json::Object{{"name", name}, {"namespace", ns_}, {"annotations", std::move(annotations)}}},
        {"spec", json::Object{{"restartPolicy", wish.restart_policy},
                              {"terminationGracePeriodSeconds", random.between(0, 30)},
                              {"containers", json::Array{json::Object{
                                                 {"name", "main"},
                                                 {"image", "busybox"},
                                                 {"resources", json::Object{{"requests", std::move(requests)},
                                                                            {"limits", std::move(limits)}}}}}}}}};
    user_.create(resources::kPods, std::move(pod), [this, name, wish] {
      pods_[name] = wish;
      if (user_.random().below(3) != 0) return next();
      // A mistake, noticed while it is being started.
      const Duration soon = user_.random().below(2) == 0 ? milliseconds(200) : seconds(5);
      user_.wait(user_.random().up_to(soon), [this, name] { remove(name); });
    });
  }

  void remove_one() {
    std::vector<std::string> there;
    for (const auto& [name, wish] : pods_)
      if (!wish.deleted) there.push_back(name);
    if (there.empty()) return next();
    remove(user_.random().pick(there));
  }

  void remove(const std::string& name) {
    pods_[name].deleted = true;
    user_.remove(resources::kPods, {ns_, name}, json::Object{}, [this] { next(); });
  }

  User& user_;
  const std::string ns_;
  sys::Task done_;
  std::int64_t steps_left_ = 0;
  int serial_ = 0;
  std::map<std::string, Wish> pods_;
};

}  // namespace

std::unique_ptr<Workload> pod_workload(User& user) {
  return std::make_unique<PodWorkload>(user);
}

}  // namespace gangway::sim
