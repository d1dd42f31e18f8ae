#include "sys/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace gangway::sys {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MetricsTest, ExposesWhatWasCounted) {
  Metrics metrics;
  auto gets = metrics.counter("requests_total", "Requests.", {{"verb", "get"}});
  gets.add();
  gets.add(2);
  metrics.counter("requests_total", "Requests.", {{"verb", "get"}}).add();
  metrics.counter("requests_total", "Requests.", {{"verb", "li\"st\n"}}).add();
  auto open = metrics.gauge("connections", "Open connections.");
  open.set(5);
  open.add(-2);
  auto text = metrics.expose();
  EXPECT_THAT(text, HasSubstr("# HELP requests_total Requests.\n# TYPE requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("requests_total{verb=\"get\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("requests_total{verb=\"li\\\"st\\n\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE connections gauge\nconnections 3\n"));
}

TEST(MetricsTest, HistogramsSortIntoBuckets) {
  Metrics metrics;
  auto took = metrics.histogram("took_seconds", "How long.", {0.1, 1}, {{"verb", "get"}});
  took.observe(0.05);
  took.observe(0.5);
  took.observe(5);
  metrics.histogram("took_seconds", "How long.", {7}, {{"verb", "get"}}).observe(0.1);
  auto text = metrics.expose();
  EXPECT_THAT(text, HasSubstr("took_seconds_count{verb=\"get\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_bucket{verb=\"get\",le=\"0.1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_bucket{verb=\"get\",le=\"1\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_bucket{verb=\"get\",le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, Not(HasSubstr("le=\"7\"")));
}

TEST(MetricsTest, GaugesAreUpdatedOnExposition) {
  Metrics metrics;
  auto depth = metrics.gauge("depth", "Queue depth.");
  int calls = 0;
  metrics.on_expose([&] { depth.set(++calls); });
  EXPECT_THAT(metrics.expose(), HasSubstr("depth 1\n"));
  EXPECT_THAT(metrics.expose(), HasSubstr("depth 2\n"));
}

TEST(MetricsTest, CountsFromManyThreads) {
  Metrics metrics;
  auto counter = metrics.counter("n_total", "N.");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) counter.add();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(metrics.expose(), HasSubstr("n_total 4000\n"));
}

}  // namespace
}  // namespace gangway::sys
