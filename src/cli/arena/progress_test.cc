#include "cli/arena/progress.h"

#include <gtest/gtest.h>

#include "cli/arena/print_jobs.h"
#include "cli/arena/test_jobs.h"

namespace gangway::cli::arena {
namespace {

using namespace std::chrono_literals;

json::Value reporting(json::Value pod, const std::string& type, const std::string& message, Duration ago) {
  json::Object& status = json::object_at(pod, {"status"});
  if (!status.contains("conditions")) status["conditions"] = json::Array();
  status["conditions"].as_array().push_back(json::Object{{"type", "gangway.dev/" + type},
                                                         {"status", "True"},
                                                         {"message", message},
                                                         {"lastTransitionTime", to_rfc3339(kNow - ago)}});
  return pod;
}

Progress told(const std::string& message, Duration ago = 0s) {
  return progress_of(reporting(json::Object{}, "Progress", message, ago)).value_or(Progress{});
}

TEST(Progress, IsReadOffThePod) {
  const Progress progress =
      told(R"({"epoch":3,"step":1200,"total":5000,"loss":0.31,"since":{"step":200,"at":"2026-01-01T11:50:00Z"}})");
  EXPECT_EQ(progress_text(progress), "epoch 3, step 1200/5000 (24%), loss 0.31");
  EXPECT_EQ(short_progress(progress), "24%");
  EXPECT_EQ(progress_bar(progress), "[####----------------] 24%");
  EXPECT_EQ(progress.at, kNow);
  ASSERT_TRUE(progress.since);
  EXPECT_EQ(progress.since->done, 200);
  EXPECT_EQ(progress.since->at, kNow - 10min);
}

TEST(Progress, OfWhatIsNotToldNothingIsSaid) {
  EXPECT_FALSE(progress_of(json::Object{}));
  EXPECT_FALSE(checkpoint_of(json::Object{}));
  EXPECT_FALSE(progress_of(reporting(json::Object{}, "Progress", "half way", 0s)));
  EXPECT_FALSE(progress_of(reporting(json::Object{}, "Progress", "[3]", 0s)));
  EXPECT_EQ(progress_text(told(R"({"epoch":3})")), "epoch 3");
  EXPECT_EQ(progress_text(told(R"({"loss":0.123456789})")), "loss 0.1235");
  EXPECT_EQ(short_progress(told(R"({"step":1200000})")), "step 1200000");
  EXPECT_EQ(progress_bar(told(R"({"epoch":3})")), "epoch 3");
  EXPECT_EQ(progress_text(told(R"({"epoch":3,"total":10})")), "epoch 3/10 (30%)");
  EXPECT_EQ(progress_text(told(R"({"step":3,"total":0})")), "step 3");
  EXPECT_EQ(progress_text(told(R"({"step":"3","total":[]})")), "");
}

TEST(Progress, ABarNeverLeavesItsFrame) {
  EXPECT_EQ(progress_bar(told(R"({"step":0,"total":10})")), "[--------------------] 0%");
  EXPECT_EQ(progress_bar(told(R"({"step":999,"total":1000})")), "[###################-] 99%");
  EXPECT_EQ(progress_bar(told(R"({"step":10,"total":10})")), "[####################] 100%");
  EXPECT_EQ(progress_bar(told(R"({"step":30,"total":10})")), "[####################] 100%");
  EXPECT_EQ(progress_bar(told(R"({"step":-1,"total":10})")), "[--------------------] 0%");
}

struct EndCase {
  const char* name;
  std::string message;
  Duration ago;                          // of the report
  std::optional<Duration> end_from_now;  // none: cannot be said
};

TEST(EstimatedEnd, IsCountedFromWhatThisRunHasDone) {
  const std::vector<EndCase> cases = {
      // 1000 steps in 10 minutes; 3800 are left.
      {"rate of the run", R"({"step":1200,"total":5000,"since":{"step":200,"at":"2026-01-01T11:50:00Z"}})", 0s, 38min},
      // The same numbers in the second attempt, which went on at step 1000 an hour after the first had to stop: 200
      // steps in 10 minutes. What the first had done, and the hour, count for nothing.
      {"after a preemption", R"({"step":1200,"total":5000,"since":{"step":1000,"at":"2026-01-01T11:50:00Z"}})", 0s,
       190min},
      // 2 epochs in 20 minutes, 6 are left; the last ended 10 minutes ago.
      {"epochs", R"({"epoch":4,"total":10,"since":{"epoch":2,"at":"2026-01-01T11:30:00Z"}})", 10min, 50min},
      {"the first report of a run", R"({"step":1200,"total":5000})", 0s, std::nullopt},
      {"too young", R"({"step":1200,"total":5000,"since":{"step":200,"at":"2026-01-01T11:59:51Z"}})", 0s, std::nullopt},
      {"no advance", R"({"step":200,"total":5000,"since":{"step":200,"at":"2026-01-01T11:50:00Z"}})", 0s, std::nullopt},
      {"backwards", R"({"step":100,"total":5000,"since":{"step":200,"at":"2026-01-01T11:50:00Z"}})", 0s, std::nullopt},
      {"no total", R"({"step":1200,"since":{"step":200,"at":"2026-01-01T11:50:00Z"}})", 0s, std::nullopt},
      {"done", R"({"step":5000,"total":5000,"since":{"step":200,"at":"2026-01-01T11:50:00Z"}})", 0s, std::nullopt},
      {"since is about something else", R"({"step":9,"total":50,"since":{"epoch":1,"at":"2026-01-01T11:50:00Z"}})", 0s,
       std::nullopt},
      // One minute of work was left 2 minutes ago.
      {"overdue", R"({"step":900,"total":1000,"since":{"step":0,"at":"2026-01-01T11:49:00Z"}})", 2min, std::nullopt},
      {"not in this life", R"({"step":1,"total":1e18,"since":{"step":0,"at":"2026-01-01T11:50:00Z"}})", 0s,
       std::nullopt},
  };
  for (const EndCase& each : cases) {
    const auto end = estimated_end(told(each.message, each.ago), kNow);
    ASSERT_EQ(end.has_value(), each.end_from_now.has_value()) << each.name;
    EXPECT_EQ(end.value_or(kNow), kNow + each.end_from_now.value_or(0s)) << each.name;
  }
}

const std::string kHalf =
    R"({"epoch":1,"step":50,"total":100,"loss":0.5,"since":{"step":0,"at":"2026-01-01T11:50:00Z"}})";

json::Value pod_of(const std::string& role, const std::string& name, int attempt,
                   const std::string& phase = "Running") {
  json::Value pod = a_pod({"pytorchjob-controller", "p", role, name, phase, "10.0.0.1", 4, 20min});
  json::object_at(pod, {"metadata", "annotations"})["gangway.dev/attempt"] = std::to_string(attempt);
  return pod;
}

JobView job_of(std::vector<json::Value> pods) {
  return views(a_pytorch_job("p", 1, 20min, R"({"startTime":"2026-01-01T11:40:00Z"})"), std::move(pods))[0];
}

TEST(JobProgress, IsThatOfTheChiefAndTheNewestCheckpointOfAll) {
  const JobView job = job_of({
      reporting(reporting(pod_of("worker", "p-worker-0", 1), "Progress", R"({"step":51,"total":100})", 0s),
                "Checkpoint", "/new", 1min),
      reporting(reporting(pod_of("master", "p-master-0", 1), "Progress", kHalf, 0s), "Checkpoint", "/old", 3min),
  });
  EXPECT_EQ(job.progress->step, 50);
  EXPECT_EQ(job.checkpoint->path, "/new");
  EXPECT_EQ(*job.estimated_end, kNow + 10min);
}

TEST(JobProgress, OfAnEarlierAttemptIsForgottenOnceTheNextReports) {
  const json::Value before = reporting(pod_of("master", "p-master-0", 1, "Failed"), "Progress", kHalf, 5min);
  const std::string later = R"({"step":30,"total":100})";
  EXPECT_EQ(job_of({before, pod_of("worker", "p-worker-0", 2)}).progress->step, 50);
  EXPECT_EQ(job_of({before, reporting(pod_of("worker", "p-worker-0", 2), "Progress", later, 0s)}).progress->step, 30);
}

TEST(JobProgress, HasNoEndWhileTheJobDoesNotRun) {
  const JobView job = job_of({reporting(pod_of("master", "p-master-0", 1), "Progress", kHalf, 0s),
                              pod_of("worker", "p-worker-0", 1, "Pending")});
  EXPECT_NE(job.status, "RUNNING");
  EXPECT_TRUE(job.progress);
  EXPECT_FALSE(job.estimated_end);
}

JobView half_way() {
  return job_of(
      {reporting(reporting(pod_of("master", "p-master-0", 1), "Progress", kHalf, 0s), "Checkpoint", "/ckpt/1.pt", 2min),
       pod_of("worker", "p-worker-0", 1)});
}

TEST(JobProgress, IsShownBelowTheTableOfGet) {
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(get_text(half_way(), kNow),
            R"(STATUS: RUNNING
NAMESPACE: default
PRIORITY: medium
TRAINING DURATION: 20m

NAME  STATUS   TRAINER     AGE  INSTANCE    NODE
p     RUNNING  PYTORCHJOB  20m  p-master-0  10.0.0.1
p     RUNNING  PYTORCHJOB  20m  p-worker-0  10.0.0.1

PROGRESS: epoch 1, step 50/100 (50%), loss 0.5, estimated end 2026-01-01 12:10:00 (in 10m), last checkpoint /ckpt/1.pt (2m ago)
)");
  const std::string wide = get_wide_text(half_way(), kNow);
  EXPECT_NE(wide.find("\nProgress:      epoch 1, step 50/100 (50%), loss 0.5\n"
                      "EstimatedEnd:  2026-01-01 12:10:00 (in 10m)\n"
                      "Checkpoint:    /ckpt/1.pt (2m ago)\n"),
            std::string::npos)
      << wide;
}

TEST(JobProgress, HasColumnsWhereJobsAreCompared) {
  const std::string without = "NAME  STATUS   TRAINER     AGE  GPU(Requested)  GPU(Allocated)  NODE";
  EXPECT_EQ(
      top_jobs_text({half_way()}, {}, kNow),
      without +
          "      PROGRESS  LOSS  ENDS    CHECKPOINT\n"
          "p     RUNNING  PYTORCHJOB  20m  8               8               10.0.0.1  50%       0.5   in 10m  2m ago\n"
          "\nTotal Allocated/Requested GPUs of Training Jobs: 8/8\n");
  const std::string silent = top_jobs_text({job_of({pod_of("master", "p-master-0", 1)})}, {}, kNow);
  EXPECT_EQ(silent.find("PROGRESS"), std::string::npos) << silent;
  ListLayout layout;
  EXPECT_EQ(list_text({half_way()}, layout, kNow).find("PROGRESS"), std::string::npos);
  layout.with_progress = true;
  EXPECT_EQ(list_text({half_way()}, layout, kNow),
            "NAME  STATUS   TRAINER     DURATION  GPU(Requested)  GPU(Allocated)  NODE      PROGRESS\n"
            "p     RUNNING  PYTORCHJOB  20m       8               8               10.0.0.1  "
            "[##########----------] 50% 10m left\n");
}

TEST(JobProgress, IsInTheDocument) {
  const json::Value document = to_json(half_way(), kNow);
  EXPECT_EQ(json::serialize(document.at("progress")),
            R"({"epoch":1,"step":50,"total":100,"loss":0.5,"percent":50,"reportedAt":"2026-01-01T12:00:00Z",)"
            R"("estimatedEnd":"2026-01-01T12:10:00Z"})");
  EXPECT_EQ(json::serialize(document.at("checkpoint")), R"({"path":"/ckpt/1.pt","savedAt":"2026-01-01T11:58:00Z"})");
  EXPECT_FALSE(to_json(job_of({}), kNow).as_object().contains("progress"));
}

}  // namespace
}  // namespace gangway::cli::arena
