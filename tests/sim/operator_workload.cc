#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "client/resource.h"
#include "sim/placement_wishes.h"
#include "sim/workload.h"

namespace gangway::sim {
namespace {

namespace resources = client::resources;
using std::chrono::seconds;

// Who runs the cluster: takes nodes out and puts them back, and changes what jobs may ask for. In the end every node is
// back.
class OperatorWorkload final : public Workload {
 public:
  OperatorWorkload(User& user, std::vector<std::string> nodes) : user_(user), nodes_(std::move(nodes)) {}

  void start(sys::Task done) override {
    done_ = std::move(done);
    steps_left_ = user_.random().between(2, 10);
    next();
  }

  void judge(const store::Root&, Verdicts&) const override {}

 private:
  void next() {
    if (steps_left_-- <= 0) return uncordon_from(0);
    user_.wait(user_.random().up_to(seconds(60)), [this] {
      if (user_.random().below(3) == 0) return configure();
      set_cordoned(user_.random().pick(nodes_), user_.random().below(2) == 0, [this] { next(); });
    });
  }

  void set_cordoned(const std::string& node, bool is_cordoned, sys::Task then) {
    user_.modify(
        resources::kNodes, {"", node},
        [is_cordoned](json::Value& object) {
          auto& spec = json::object_at(object, {"spec"});
          if (is_cordoned) {
            spec["unschedulable"] = true;
          } else {
            spec.erase("unschedulable");
          }
        },
        std::move(then));
  }

  void configure() {
    auto& random = user_.random();
    json::Object scheduling{
        {"minRuntimeLimit", random.pick(std::vector<std::string>{"0s", "1m", "10m"})},
        {"maxPreemptionsLimit", random.between(0, 3)},
    };
    json::Object body{{"apiVersion", "gangway.dev/v1alpha1"},
                      {"kind", "Configuration"},
                      {"metadata", json::Object{{"name", "default"}}},
                      {"spec", json::Object{{"scheduling", scheduling}}}};
    user_.create(kConfigurations, std::move(body), [this, scheduling] {
      user_.modify(
          kConfigurations, {"", "default"},
          [scheduling](json::Value& object) {
            object.as_object()["apiVersion"] = "gangway.dev/v1alpha1";
            object.as_object()["kind"] = "Configuration";
            json::object_at(object, {"spec"})["scheduling"] = scheduling;
          },
          [this] { next(); });
    });
  }

  void uncordon_from(std::size_t index) {
    if (index == nodes_.size()) return done_();
    set_cordoned(nodes_[index], false, [this, index] { uncordon_from(index + 1); });
  }

  User& user_;
  const std::vector<std::string> nodes_;
  sys::Task done_;
  std::int64_t steps_left_ = 0;
};

}  // namespace

std::unique_ptr<Workload> operator_workload(User& user, std::vector<std::string> nodes) {
  return std::make_unique<OperatorWorkload>(user, std::move(nodes));
}

}  // namespace gangway::sim
