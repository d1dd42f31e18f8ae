#include <gtest/gtest.h>

#include "agent/pod/pod_record.h"
#include "agent/pod/test_machine.h"

namespace gangway::agent {
namespace {

using Stage = ContainerRecord::Stage;

constexpr const char* kOne = R"({"spec": {"containers": [{"name": "main", "image": "i"}]}})";

PodRecord running_record() {
  MachineBench bench(kOne);
  bench.run();
  return bench.record;
}

TEST(PodRecordText, IsReadAsItWasWritten) {
  MachineBench bench(R"({"spec": {"initContainers": [{"name": "first", "image": "i"}],
      "containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "2"}}}]}})");
  bench.room.allocatable["nvidia.com/gpu"] = 4;
  bench.room.gpus = 4;
  bench.run();
  bench.exit("first", 0);
  bench.run();
  bench.exit("main", 3);
  bench.run();
  bench.spec.deletion = Deletion{kStart + 30s, 30s};
  bench.run();
  ASSERT_EQ(bench.record.gpus.at("main"), (std::vector<unsigned>{0, 1}));
  ASSERT_TRUE(bench.record.find("main")->stop.has_value());
  const auto read = read_record(write_record(bench.record));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, bench.record);
}

TEST(PodRecordText, NonsenseIsRefused) {
  EXPECT_FALSE(read_record("").has_value());
  EXPECT_FALSE(read_record("{}").has_value());
  EXPECT_FALSE(read_record(R"({"uid": "u", "containers": [{"name": "c", "stage": 3}]})").has_value());
}

TEST(Adopt, WhatRunsGoesOn) {
  PodRecord record = running_record();
  Found found;
  found.sandboxes["u"] = {{"10.0.0.7"}};
  found.containers.push_back({{"u", "main", 0}, Started{100, kStart}, std::nullopt});
  const PodRecord before = record;
  adopt(record, found, kStart + 1h);
  EXPECT_EQ(record, before);
}

TEST(Adopt, WhatEndedUnseenHasEnded) {
  PodRecord record = running_record();
  Found found;
  found.sandboxes["u"] = {{"10.0.0.7"}};
  Exit exit;
  exit.code = 4;
  exit.at = kStart + 10s;
  found.containers.push_back({{"u", "main", 0}, std::nullopt, exit});
  adopt(record, found, kStart + 1h);
  EXPECT_EQ(record.find("main")->stage, Stage::kExited);
  EXPECT_EQ(record.find("main")->end->exit.code, 4);
}

TEST(Adopt, WhatIsNotThereIsLost) {
  PodRecord record = running_record();
  adopt(record, {}, kStart + 1h);
  const ContainerRecord& main = *record.find("main");
  EXPECT_EQ(main.stage, Stage::kExited);
  EXPECT_EQ(main.end->exit.code, 137);
  EXPECT_TRUE(main.end->exit.lost);
  EXPECT_FALSE(record.has_sandbox);
}

TEST(Adopt, AStartThatNeverHappenedUsesUpItsNumberAndNothingElse) {
  PodRecord record = running_record();
  record.find("main")->stage = Stage::kStarting;
  adopt(record, {}, kStart + 1h);
  EXPECT_EQ(record.find("main")->stage, Stage::kNone);
  EXPECT_EQ(record.find("main")->attempt, 1U);
  EXPECT_EQ(record.find("main")->restarts, 0U);
}

TEST(Adopt, AfterARestartOfTheMachineAPodStartsFromTheBeginning) {
  MachineBench bench(R"({"spec": {"initContainers": [{"name": "first", "image": "i"}],
                                  "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  bench.exit("first", 0);
  bench.run();
  bench.take_done();
  adopt(bench.record, {}, bench.now);
  bench.facts = {};
  bench.run();
  EXPECT_EQ(bench.take_done(), (std::vector<std::string>{"remove main/0", "sandbox", "image first", "start first/1"}));
  bench.exit("first", 0);
  bench.run();
  EXPECT_EQ(bench.done.back(), "start main/1");
  EXPECT_EQ(json::string_at(bench.status_of_container("main"), {"lastState", "terminated", "reason"}),
            "ContainerStatusUnknown");
}

TEST(Adopt, APodThatIsNeverRestartedFailsWithItsMachine) {
  MachineBench bench(R"({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  bench.take_done();
  adopt(bench.record, {}, bench.now);
  bench.run();
  EXPECT_EQ(bench.phase(), "Failed");
  EXPECT_EQ(bench.take_done(), (std::vector<std::string>{"remove main/0"}));
}

// What a simulated pod's status says is enough to go on from.
TEST(RecordFromStatus, GivesTheSameStatusAgain) {
  MachineBench bench(R"({"spec": {"initContainers": [{"name": "first", "image": "i"}],
                                  "containers": [{"name": "main", "image": "i"}]}})");
  bench.node.simulated = true;
  bench.node.runtime_scheme = "simulated";
  bench.run();
  bench.exit("first", 0);
  bench.run();
  bench.now += 5s;
  bench.exit("main", 1);
  bench.run();
  bench.now += 5s;
  bench.exit("main", 1);
  bench.run();
  ASSERT_EQ(bench.waiting("main"), "CrashLoopBackOff");
  json::Value pod = testing::a_pod("ns", "p").json();
  pod.as_object()["status"] = *bench.step.status;
  auto record = record_from_status(pod, bench.spec.pod, "simulated");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->find("main")->attempt, 1U);
  EXPECT_EQ(record->find("main")->restarts, 1U);
  EXPECT_EQ(record->find("main")->backoff, 10s);
  const json::Object before = *bench.step.status;
  bench.spec.says_scheduled = true;
  bench.record = *record;
  bench.facts = {};
  bench.look();
  json::Object expected = before;
  // Who said that it is scheduled is not in the record, and the condition stays without being said again.
  expected.at("conditions").as_array().pop_back();
  EXPECT_EQ(*bench.step.status, expected);
}

TEST(RecordFromStatus, NothingWasDoneForAPodWithoutStatus) {
  EXPECT_FALSE(record_from_status(testing::a_pod("ns", "p").json(), {"u", "ns", "p", "n0"}, "simulated").has_value());
}

}  // namespace
}  // namespace gangway::agent
