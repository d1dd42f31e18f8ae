#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "client/resource.h"
#include "sim/workload.h"

namespace gangway::sim {
namespace {

namespace resources = client::resources;
using std::chrono::seconds;

const client::Resource kJobs{"batch", "v1", "jobs"};

struct Wish {
  std::int64_t completions = 1;
  bool indexed = false;
  bool well = true;
  bool suspended = false;
  bool deleted = false;
};

std::string condition_of(const json::Value& object, std::string_view type) {
  const auto* conditions = json::find(object, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return {};
  for (const auto& condition : conditions->get_array())
    if (json::string_at(condition, {"type"}) == type) return std::string(json::string_at(condition, {"status"}));
  return {};
}

// "0", "0,1", "0-3": all indexes, as a Job tells them.
std::string all_indexes(std::int64_t count) {
  if (count == 1) return "0";
  return count == 2 ? "0,1" : fmt::format("0-{}", count - 1);
}

// Jobs that end well, or always fail, or are suspended in between. Whatever becomes of their pods, each index is
// counted once.
class JobWorkload final : public Workload {
 public:
  explicit JobWorkload(User& user) : user_(user), ns_(user.name() + "-jobs") {}

  void start(sys::Task done) override {
    done_ = std::move(done);
    steps_left_ = user_.random().between(2, 12);
    user_.create_namespace(ns_, [this] { make(); });
  }

  void judge(const store::Root& root, Verdicts& verdicts) const override {
    for (const auto& [name, wish] : jobs_) {
      const auto where = fmt::format("job {}/{} ", ns_, name);
      const auto job = root.get({"jobs.batch", {ns_, name}});
      if (wish.deleted != !job) verdicts.broken(where + (wish.deleted ? "should be gone" : "is gone"));
      if (job && !wish.deleted) judge_job(where, wish, *json::parse(*job.json), verdicts);
    }
    for (const auto& version : root.objects("pods")) {
      if (version.header->name.ns != ns_) continue;
      const auto pod = *json::parse(*version.json);
      const auto phase = json::string_at(pod, {"status", "phase"});
      if (phase == "Running" || phase == "Pending")
        verdicts.broken(fmt::format("pod {}/{} is {} though its job has ended", ns_, version.header->name.name, phase));
    }
  }

 private:
  void judge_job(const std::string& where, const Wish& wish, const json::Value& job, Verdicts& verdicts) const {
    const auto number = [&](std::string_view field) {
      const auto* value = json::find(job, {"status", field});
      return value != nullptr && value->is_int64() ? value->get_int64() : 0;
    };
    const std::string_view end = wish.well ? "Complete" : "Failed";
    if (condition_of(job, end) != "True") return verdicts.broken(where + fmt::format("should be {}", end));
    if (condition_of(job, wish.well ? "Failed" : "Complete") == "True") verdicts.broken(where + "has ended twice");
    if (number("active") != 0) verdicts.broken(where + fmt::format("has ended and {} active", number("active")));
    if (!wish.well) return;
    if (number("succeeded") != wish.completions)
      verdicts.broken(where + fmt::format("wanted {} and counts {}", wish.completions, number("succeeded")));
    const auto told = json::string_at(job, {"status", "completedIndexes"});
    if (wish.indexed && told != all_indexes(wish.completions))
      verdicts.broken(where + fmt::format("completed {} of {}", told, wish.completions));
  }

  void next() {
    if (steps_left_-- <= 0) return resume_all();
    const bool hurries = user_.random().below(3) != 0;
    user_.wait(user_.random().up_to(hurries ? seconds(3) : seconds(90)), [this] {
      switch (user_.random().below(5)) {
        case 0:
          return remove();
        case 1:
          return suspend_or_resume();
        default:
          return make();
      }
    });
  }

  void make() {
    auto& random = user_.random();
    const auto name = fmt::format("job-{}", ++serial_);
    Wish wish;
    wish.completions = random.between(1, 5);
    wish.indexed = random.below(2) == 0;
    wish.well = random.below(4) != 0;
    wish.suspended = random.below(6) == 0;
    json::Object annotations{{"gangway.dev/simulated-duration", fmt::format("{}s", random.between(1, 40))},
                             {"gangway.dev/simulated-exit-code", wish.well ? "0" : "3"}};
    // They ask for nothing, so that there is room for them whatever else runs.
    json::Object container{{"name", "main"}, {"image", "busybox"}};
    json::Object spec{
        {"completions", wish.completions},
        {"parallelism", random.between(1, 4)},
        {"completionMode", wish.indexed ? "Indexed" : "NonIndexed"},
        // Lost nodes count as failures, too; they must not end a job that would go well.
        {"backoffLimit", wish.well ? 1000 : random.between(0, 2)},
        {"suspend", wish.suspended},
        {"template", json::Object{{"metadata", json::Object{{"annotations", std::move(annotations)}}},
                                  {"spec", json::Object{{"restartPolicy", "Never"},
                                                        {"containers", json::Array{std::move(container)}}}}}}};
    json::Object job{{"metadata", json::Object{{"name", name}, {"namespace", ns_}}}, {"spec", std::move(spec)}};
    user_.create(kJobs, std::move(job), [this, name, wish] {
      jobs_[name] = wish;
      next();
    });
  }

  std::vector<std::string> living(bool suspended_only = false) const {
    std::vector<std::string> names;
    for (const auto& [name, wish] : jobs_)
      if (!wish.deleted && (wish.suspended || !suspended_only)) names.push_back(name);
    return names;
  }

  void remove() {
    const auto names = living();
    if (names.empty()) return next();
    const auto name = user_.random().pick(names);
    jobs_[name].deleted = true;
    const std::vector<std::string> policies = {"Background", "Foreground"};
    user_.remove(kJobs, {ns_, name}, json::Object{{"propagationPolicy", user_.random().pick(policies)}},
                 [this] { next(); });
  }

  void set_suspended(const std::string& name, bool suspended, sys::Task then) {
    jobs_[name].suspended = suspended;
    user_.modify(
        kJobs, {ns_, name}, [suspended](json::Value& job) { json::object_at(job, {"spec"})["suspend"] = suspended; },
        std::move(then));
  }

  void suspend_or_resume() {
    const auto names = living();
    if (names.empty()) return next();
    const auto name = user_.random().pick(names);
    set_suspended(name, !jobs_[name].suspended, [this] { next(); });
  }

  // In the end all of them may run.
  void resume_all() {
    const auto names = living(true);
    if (names.empty()) return done_();
    set_suspended(names.front(), false, [this] { resume_all(); });
  }

  User& user_;
  const std::string ns_;
  sys::Task done_;
  std::int64_t steps_left_ = 0;
  int serial_ = 0;
  std::map<std::string, Wish> jobs_;
};

}  // namespace

std::unique_ptr<Workload> job_workload(User& user) {
  return std::make_unique<JobWorkload>(user);
}

}  // namespace gangway::sim
