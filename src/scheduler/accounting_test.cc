#include "scheduler/accounting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scheduler/usage.h"
#include "testing/builders.h"
#include "testing/fake_api_objects.h"

namespace gangway::scheduler {
namespace {

using ::testing::ElementsAre;

WallTime at(std::int64_t second) {
  return WallTime(std::chrono::seconds(1'800'000'000 + second));
}

const JobRef kJob{"team", "PodGroup", "train", "alice", "batch"};

PodUsage a_pod(const std::string& uid, std::int64_t gpus, std::int64_t created, std::optional<std::int64_t> bound) {
  PodUsage pod{.job = kJob, .uid = uid, .gpus = gpus, .created = at(created)};
  if (bound) pod.bound = at(*bound);
  return pod;
}

PodUsage ending(PodUsage pod, std::int64_t ends) {
  pod.ends = at(ends);
  return pod;
}

PodUsage preempted(PodUsage pod, std::int64_t when) {
  pod.preempted = at(when);
  return ending(std::move(pod), when + 30);
}

Account account() {
  Account account;
  account.job = kJob;
  return account;
}

Account read_back(const Account& account) {
  const auto text = std::make_shared<const std::string>(json::serialize(record_of(account, "r")));
  auto header = std::make_shared<api::Header>();
  header->name = {account.job.ns, "r"};
  return read_account({header, text});
}

TEST(Accounting, NothingIsWrittenWhilePodsRun) {
  const Sighting seen{.pods = {a_pod("a", 4, 0, 10)}, .now = at(5000)};
  EXPECT_EQ(next_account(account(), seen), account());
}

TEST(Accounting, APodThatIsToldToEndIsKnownBeforeItIsGone) {
  const PodUsage pod = ending(a_pod("a", 4, 0, 10), 130);
  const Account told = next_account(account(), {.pods = {pod}, .now = at(100)});
  ASSERT_EQ(told.ending.size(), 1u);
  EXPECT_EQ(total(told.used), 0);
  const Account over = next_account(told, {.gone = {{pod, at(105)}}, .now = at(105)});
  EXPECT_TRUE(over.ending.empty());
  EXPECT_EQ(total(over.used), 4 * 95);
  EXPECT_EQ(total(over.waited), 4 * 10);
  EXPECT_THAT(over.settled, ElementsAre("a"));
  EXPECT_EQ(over.last_at, at(105));
}

TEST(Accounting, NothingIsCountedTwice) {
  const PodUsage pod = ending(a_pod("a", 4, 0, 10), 130);
  const Sighting seen{.gone = {{pod, at(105)}}, .now = at(105)};
  const Account once = next_account(account(), seen);
  EXPECT_EQ(next_account(once, seen), once) << "the answer was lost, and it is done again";
  const Account told = next_account(account(), {.pods = {pod}, .now = at(100)});
  const Account after_a_crash = next_account(told, {.now = at(9000)});
  EXPECT_EQ(total(after_a_crash.used), 4 * 120) << "by the time it was given it had ended";
  EXPECT_EQ(next_account(after_a_crash, {.now = at(9999)}), after_a_crash);
}

TEST(Accounting, WhoNeverRanHasOnlyWaited) {
  const Account over = next_account(account(), {.gone = {{a_pod("a", 2, 0, std::nullopt), at(50)}}, .now = at(50)});
  EXPECT_EQ(total(over.used), 0);
  EXPECT_EQ(total(over.waited), 2 * 50);
}

TEST(Accounting, WhoEndedByItselfIsCountedToItsOwnEnd) {
  PodUsage pod = a_pod("a", 2, 0, 10);
  pod.ended = at(60);
  const Account over = next_account(account(), {.gone = {{pod, at(5000)}}, .now = at(5000)});
  EXPECT_EQ(total(over.used), 2 * 50);
}

TEST(Accounting, OnePreemptionLosesTheWorkOfTheWholeGangSinceItsCheckpoint) {
  Sighting seen{.pods = {preempted(a_pod("a", 4, 0, 10), 110), a_pod("b", 4, 0, 10)},
                .taken = {{"a", "prod/high", "prod/high-x 1", "Fail"}},
                .now = at(111)};
  const Account lost = next_account(account(), seen);
  EXPECT_EQ(total_lost(lost), 8 * 100);
  ASSERT_EQ(lost.preemptions.size(), 1u);
  EXPECT_EQ(lost.preemptions[0].by, "prod/high");
  EXPECT_EQ(lost.requeues, 0);
  EXPECT_EQ(next_account(lost, seen), lost);
  seen.last_checkpoint = at(60);
  EXPECT_EQ(total_lost(next_account(account(), seen)), 8 * 50);
}

TEST(Accounting, WorkIsLostOnce) {
  const Sighting first{.pods = {preempted(a_pod("a", 4, 0, 10), 110), a_pod("b", 4, 0, 10)},
                       .taken = {{"a", "prod/high", "prod/high-x 1", "Fail"}},
                       .now = at(111)};
  const Account once = next_account(account(), first);
  const Account twice = next_account(once, {.pods = {preempted(a_pod("b", 4, 0, 10), 160)},
                                            .taken = {{"b", "prod/higher", "prod/higher-x 1", "Fail"}},
                                            .now = at(161)});
  ASSERT_EQ(twice.preemptions.size(), 2u);
  EXPECT_EQ(twice.preemptions[1].gpu_seconds, 4 * 50) << "what went before was lost the first time";
}

TEST(Accounting, ARequeueOfManyPodsIsOnePreemption) {
  const Account lost =
      next_account(account(), {.pods = {preempted(a_pod("a", 1, 0, 10), 20), preempted(a_pod("b", 1, 0, 10), 20)},
                               .taken = {{"a", "prod/high", "g 1", "Requeue"}, {"b", "prod/high", "g 1", "Requeue"}},
                               .now = at(21)});
  ASSERT_EQ(lost.preemptions.size(), 1u);
  EXPECT_EQ(lost.preemptions[0].gpu_seconds, 2 * 10);
  EXPECT_EQ(lost.requeues, 1);
}

TEST(Accounting, ShrinkingLosesNothingAndTheSparedLoseNothing) {
  const Account shrunk = next_account(
      account(),
      {.pods = {preempted(a_pod("a", 1, 0, 10), 20)}, .taken = {{"a", "prod/high", "g 1", "Shrink"}}, .now = at(21)});
  ASSERT_EQ(shrunk.preemptions.size(), 1u);
  EXPECT_EQ(total_lost(shrunk), 0);
  PodUsage spared = a_pod("a", 1, 0, 10);
  spared.preempted = at(20);
  const Sighting seen{.pods = {spared}, .taken = {{"a", "prod/high", "g 1", "Fail"}}, .now = at(21)};
  EXPECT_EQ(next_account(account(), seen), account());
}

TEST(Accounting, RecordsStaySmallAndSumsExact) {
  Account all = account();
  for (int i = 0; i < 200; ++i) {
    PodUsage pod = a_pod("p" + std::to_string(i), 1, i * 100, i * 100 + 10);
    pod.ended = at(i * 100 + 40);
    all = next_account(all, {.gone = {{pod, at(i * 100 + 50)}}, .now = at(i * 100 + 50)});
  }
  EXPECT_EQ(all.used.size(), Account::kSpans);
  EXPECT_EQ(total(all.used), 200 * 30);
  EXPECT_EQ(total(all.waited), 200 * 10);
  EXPECT_EQ(total_since(all.used, at(19'900)), 30) << "the last one has its own times";
}

TEST(Accounting, ManyAreSettledInSteps) {
  Sighting seen{.now = at(100)};
  for (int i = 0; i < 300; ++i) {
    PodUsage pod = a_pod("p" + std::to_string(i), 1, 0, 10);
    pod.ended = at(20);
    seen.gone.push_back({pod, at(100)});
  }
  const Account half = next_account(account(), seen);
  EXPECT_EQ(half.settled.size(), Account::kSettledAtOnce);
  // Its record shows them: they are forgotten, the others are not.
  std::erase_if(seen.gone, [&](const Gone& gone) {
    return std::find(half.settled.begin(), half.settled.end(), gone.pod.uid) != half.settled.end();
  });
  const Account all = next_account(half, seen);
  EXPECT_EQ(total(all.used), 300 * 10);
}

TEST(Accounting, ARecordSaysAllOfTheAccount) {
  Account full = next_account(account(), {.pods = {preempted(a_pod("a", 4, 0, 10), 110), a_pod("b", 4, 0, 10)},
                                          .taken = {{"a", "prod/high", "prod/high-x 1", "Requeue"}},
                                          .now = at(111)});
  PodUsage pod = a_pod("c", 1, 0, 10);
  full = next_account(full, {.pods = {preempted(a_pod("a", 4, 0, 10), 110)}, .gone = {{pod, at(115)}}, .now = at(115)});
  EXPECT_EQ(read_back(full), full);
}

TEST(Accounting, APodSaysWhenItHadItsGpus) {
  testing::FakeApiObjects objects;
  client::ApiRequest request;
  request.method = client::Method::kCreate;
  request.resource = {"", "v1", "pods"};
  request.object.ns = "team";
  request.body = json::serialize(testing::a_pod("team", "p")
                                     .label("scheduling.x-k8s.io/pod-group", "train")
                                     .owner("batch/v1", "Job", "j", "u", true)
                                     .with(R"({"metadata":{"annotations":{"gangway.dev/created-by":"alice"}},
                    "spec":{"nodeName":"n0","priorityClassName":"batch","containers":[
                      {"name":"a","resources":{"requests":{"nvidia.com/gpu":"2"}}},
                      {"name":"b","resources":{"requests":{"amd.com/gpu":"1","cpu":"4"}}}]},
                    "status":{"phase":"Failed","startTime":"2026-01-02T00:00:10Z",
                      "conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-02T00:00:05Z"},
                                    {"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler",
                                     "lastTransitionTime":"2026-01-02T00:01:00Z"}],
                      "containerStatuses":[{"name":"a","state":{"terminated":{"finishedAt":"2026-01-02T00:01:20Z"}}},
                                           {"name":"b","state":{"terminated":{"finishedAt":"2026-01-02T00:01:30Z"}}}]}})")
                                     .json());
  const auto made = objects.apply(request, at(0));
  ASSERT_TRUE(made);
  const PodUsage usage = read_usage(*made);
  EXPECT_EQ(usage.job, kJob) << "the group counts, not the owner";
  EXPECT_EQ(usage.gpus, 3);
  EXPECT_EQ(usage.bound, *parse_rfc3339("2026-01-02T00:00:05Z"));
  EXPECT_EQ(usage.ended, *parse_rfc3339("2026-01-02T00:01:30Z"));
  EXPECT_EQ(usage.preempted, *parse_rfc3339("2026-01-02T00:01:00Z"));
}

TEST(Usage, CountsRecordsAndPodsByWhatIsAskedFor) {
  Account old = account();
  old.used = {{at(0), at(100), 400}};
  old.preemptions = {{at(50), 1, 30, "prod/high", "g 1", "Fail"}};
  PodUsage waits = a_pod("w", 2, 150, std::nullopt);
  PodUsage runs = a_pod("r", 1, 100, 120);
  runs.job = {"prod", "Job", "serve", "bob", ""};
  UsageQuestion question{.by = UsageBy::kUser, .since = at(0), .now = at(200)};
  EXPECT_THAT(usage_of({old}, {waits, runs}, question),
              ElementsAre(UsageLine{"alice", 400, 100, 30, 1}, UsageLine{"bob", 80, 20, 0, 0}));
  question.by = UsageBy::kJob;
  question.since = at(75);
  EXPECT_THAT(usage_of({old}, {waits, runs}, question),
              ElementsAre(UsageLine{"team/PodGroup/train", 100, 100, 0, 0}, UsageLine{"prod/Job/serve", 80, 20, 0, 0}));
  question.by = UsageBy::kPriority;
  EXPECT_THAT(usage_of({old}, {runs}, question),
              ElementsAre(UsageLine{"batch", 100, 0, 0, 0}, UsageLine{"none", 80, 20, 0, 0}));
  question.by = UsageBy::kUser;
  question.knows_users = false;
  EXPECT_THAT(usage_of({old}, {runs}, question), ElementsAre(UsageLine{"unknown", 180, 20, 0, 0}));
}

TEST(Usage, APodThatGoesMeanwhileIsCountedOnce) {
  const PodUsage pod = ending(a_pod("a", 1, 0, 0), 130);
  const UsageQuestion question{.by = UsageBy::kUser, .since = at(0), .now = at(100)};
  const Account told = next_account(account(), {.pods = {pod}, .now = at(90)});
  EXPECT_THAT(usage_of({told}, {pod}, question), ElementsAre(UsageLine{"alice", 100, 0, 0, 0})) << "it is listed";
  EXPECT_THAT(usage_of({told}, {}, question), ElementsAre(UsageLine{"alice", 100, 0, 0, 0})) << "it is not";
  const Account over = next_account(told, {.gone = {{pod, at(95)}}, .now = at(95)});
  EXPECT_THAT(usage_of({over}, {pod}, question), ElementsAre(UsageLine{"alice", 95, 0, 0, 0})) << "it was, before";
}

TEST(Usage, ATableForPeople) {
  EXPECT_EQ(usage_table({{"alice", 7200, 1800, 36, 2}}, UsageBy::kUser),
            "USER    USED GPU-H       WAITED         LOST   PREEMPTIONS\n"
            "alice         2.00         0.50         0.01             2\n");
}

}  // namespace
}  // namespace gangway::scheduler
