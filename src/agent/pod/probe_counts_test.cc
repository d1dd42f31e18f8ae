#include "agent/pod/probe_counts.h"

#include <gtest/gtest.h>

#include "agent/pod/test_machine.h"

namespace gangway::agent {
namespace {

PodContainer container_with(std::string_view probes) {
  return pod_of(fmt::format(R"({{"spec": {{"containers": [{{"name": "c", {}}}]}}}})", probes)).containers.front();
}

TEST(ProbeCounts, AStartupProbeComesBeforeTheOthers) {
  const auto container = container_with(R"("startupProbe": {"tcpSocket": {"port": 1}, "failureThreshold": 2},
      "livenessProbe": {"tcpSocket": {"port": 1}}, "readinessProbe": {"tcpSocket": {"port": 1}})");
  ProbeCounts counts(container);
  EXPECT_TRUE(counts.is_wanted(container, ProbeKind::kStartup));
  EXPECT_FALSE(counts.is_wanted(container, ProbeKind::kLiveness));
  counts.count(container, ProbeKind::kStartup, false);
  EXPECT_FALSE(counts.facts().started);
  counts.count(container, ProbeKind::kStartup, true);
  EXPECT_TRUE(counts.facts().started);
  EXPECT_FALSE(counts.is_wanted(container, ProbeKind::kStartup));
  EXPECT_TRUE(counts.is_wanted(container, ProbeKind::kLiveness));
  EXPECT_FALSE(counts.facts().ready);
}

TEST(ProbeCounts, FailuresInARowMeanIllness) {
  const auto container = container_with(
      R"("livenessProbe": {"tcpSocket": {"port": 1}, "failureThreshold": 3, "terminationGracePeriodSeconds": 5})");
  ProbeCounts counts(container);
  for (const bool success : {false, false, true, false, false}) counts.count(container, ProbeKind::kLiveness, success);
  EXPECT_EQ(counts.facts().failed, "");
  counts.count(container, ProbeKind::kLiveness, false);
  EXPECT_EQ(counts.facts().failed, "failed liveness probe");
  EXPECT_EQ(counts.facts().grace, 5s);
  EXPECT_FALSE(counts.is_wanted(container, ProbeKind::kLiveness)) << "it is about to be stopped";
}

TEST(ProbeCounts, ReadinessComesAndGoes) {
  const auto container =
      container_with(R"("readinessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2, "failureThreshold": 2})");
  ProbeCounts counts(container);
  struct {
    bool success;
    bool ready;
  } steps[] = {{true, false}, {true, true}, {false, true}, {false, false}, {true, false}, {true, true}};
  for (const auto& step : steps) {
    counts.count(container, ProbeKind::kReadiness, step.success);
    EXPECT_EQ(counts.facts().ready, step.ready);
  }
}

TEST(ProbeCounts, WithoutProbesAContainerIsStartedAndReady) {
  const ProbeCounts counts(container_with(R"("image": "i")"));
  EXPECT_TRUE(counts.facts().started);
  EXPECT_TRUE(counts.facts().ready);
}

TEST(ProbeCounts, AProbeThatNobodyCanCarryOutKillsNobody) {
  const auto container = container_with(
      R"("startupProbe": {"grpc": {"port": 1}, "failureThreshold": 1}, "livenessProbe": {"grpc": {"port": 1}, "failureThreshold": 1})");
  ProbeCounts counts(container);
  counts.count(container, ProbeKind::kStartup, false);
  counts.count(container, ProbeKind::kLiveness, false);
  EXPECT_TRUE(counts.facts().started);
  EXPECT_EQ(counts.facts().failed, "");
}

}  // namespace
}  // namespace gangway::agent
