#include "agent/endpoints/agent_pods.h"

#include <gtest/gtest.h>

namespace gangway::agent {
namespace {

using Stage = ContainerRecord::Stage;

PodRecord record_of(ContainerRecord container) {
  PodRecord record;
  record.pod = {"u1", "default", "web", "n0"};
  container.name = "main";
  record.containers.push_back(std::move(container));
  return record;
}

api::Version object_of(std::string_view state) {
  api::Version version;
  version.json = std::make_shared<const std::string>(R"({"status":{"containerStatuses":[{"name":"main","state":)" +
                                                     std::string(state) + "}]}}");
  return version;
}

ContainerRecord in(Stage stage, unsigned attempt) {
  ContainerRecord record;
  record.stage = stage;
  record.attempt = attempt;
  return record;
}

RunEnd ended(unsigned attempt) {
  return {.attempt = attempt, .exit = {}, .reason = ""};
}

// "current/last waiting", with "-" for none and "!" for one that runs.
std::string served(ContainerRecord container, std::string_view state) {
  const auto pod = served_pod(record_of(std::move(container)), object_of(state));
  const auto& c = pod.containers.at(0);
  const auto text = [](const std::optional<ContainerId>& id) { return id ? std::to_string(id->attempt) : "-"; };
  return text(c.current) + (c.running ? "!" : "") + "/" + text(c.last) + " " + c.waiting_reason;
}

TEST(ServedPod, ShowsTheRunsThatTheStatusShows) {
  constexpr const char* kWaiting = R"({"waiting":{"reason":"CrashLoopBackOff"}})";
  constexpr const char* kTerminated = R"({"terminated":{}})";
  EXPECT_EQ(served({}, R"({"waiting":{"reason":"ContainerCreating"}})"), "-/- ContainerCreating");
  EXPECT_EQ(served(in(Stage::kStarting, 0), R"({"waiting":{"reason":"ContainerCreating"}})"), "-/- ContainerCreating");
  ContainerRecord running = in(Stage::kRunning, 2);
  running.last = ended(1);
  EXPECT_EQ(served(running, R"({"running":{}})"), "2!/1 ");
  ContainerRecord exited = in(Stage::kExited, 2);
  exited.last = ended(1);
  EXPECT_EQ(served(exited, kTerminated), "2/1 ");
  EXPECT_EQ(served(exited, kWaiting), "-/2 CrashLoopBackOff") << "what ended last is the run before the next";
}

TEST(ServedPod, KnowsWhoseItIs) {
  auto record = record_of({});
  EXPECT_FALSE(served_pod(record, {}).started_at);
  record.judged = true;
  record.started_at = WallTime(std::chrono::seconds(5));
  const auto pod = served_pod(record, {});
  EXPECT_EQ(pod.started_at, record.started_at);
  EXPECT_EQ(pod.identity.name, "web");
}

}  // namespace
}  // namespace gangway::agent
