#include "agent/endpoints/requests.h"

#include <gtest/gtest.h>

#include "agent/endpoints/stats.h"
#include "agent/endpoints/test_runtime.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

sys::Query query(std::string_view text) {
  return sys::Query::parse(text).value();
}

TEST(LogSource, IsTheRunThatIsMeantOrWhyThereIsNone) {
  ServedPod pod{.identity = {"u1", "default", "web", "n0"}};
  const ContainerId first{"u1", "c", 0};
  const ContainerId second{"u1", "c", 1};
  struct Case {
    ServedContainer container;
    bool previous;
    std::string want;  // the attempt, or the message
  };
  const Case cases[] = {
      {{.name = "c", .current = second, .running = true, .last = first}, false, "1"},
      {{.name = "c", .current = second, .running = true, .last = first}, true, "0"},
      {{.name = "c", .current = first}, false, "0"},
      {{.name = "c", .current = first}, true, "previous terminated container \"c\" in pod \"web\" not found"},
      {{.name = "c", .last = first, .waiting_reason = "CrashLoopBackOff"}, false, "0"},
      {{.name = "c", .waiting_reason = "ContainerCreating"},
       false,
       "container \"c\" in pod \"web\" is waiting to start: ContainerCreating"},
      {{.name = "c", .waiting_reason = "ImagePullBackOff"},
       false,
       "container \"c\" in pod \"web\" is waiting to start: trying and failing to pull image"},
      {{.name = "c"}, false, "container \"c\" in pod \"web\" is waiting to start - no logs yet"},
      {{.name = "other"}, false, "container \"c\" in pod \"web\" is not available"},
  };
  for (const auto& c : cases) {
    pod.containers = {c.container};
    const auto source = log_source(pod, "c", c.previous);
    EXPECT_EQ(source ? std::to_string(source->attempt) : source.error().message, c.want);
  }
}

TEST(ReadExec, TakesStreamsAndCommand) {
  const auto spec = read_exec(query("input=1&output=1&error=1&command=sh&command=-c&command=a+b"), false);
  ASSERT_TRUE(spec);
  EXPECT_TRUE(spec->stdin_open && spec->out && spec->err && !spec->terminal);
  EXPECT_EQ(spec->command, (std::vector<std::string>{"sh", "-c", "a b"}));
  const auto terminal = read_exec(query("output=1&error=1&tty=1&command=sh"), false);
  EXPECT_TRUE(terminal->terminal && !terminal->err);
  EXPECT_TRUE(read_exec(query("output=1&command=ignored"), true)->command.empty());
  EXPECT_EQ(read_exec(query("command=sh"), false).error().message,
            "you must specify at least 1 of stdin, stdout, stderr");
  EXPECT_FALSE(read_exec(query("output=1"), false));
}

TEST(ReadPorts, TakesListsAndRepetitions) {
  EXPECT_EQ(read_ports(query("port=80,81&port=65535")).value(), (std::vector<std::uint16_t>{80, 81, 65535}));
  for (const char* wrong : {"", "port=", "port=0", "port=65536", "port=80,x"})
    EXPECT_FALSE(read_ports(query(wrong))) << wrong;
}

TEST(UpgradeKind, IsReadOffTheHeaders) {
  const auto kind = [](std::string connection, std::string upgrade) {
    sys::HttpHeaders headers;
    headers.add("Connection", std::move(connection));
    headers.add("Upgrade", std::move(upgrade));
    return upgrade_kind(headers);
  };
  EXPECT_EQ(kind("Upgrade", "websocket"), UpgradeKind::kWebSocket);
  EXPECT_EQ(kind("keep-alive, upgrade", "WebSocket"), UpgradeKind::kWebSocket);
  EXPECT_EQ(kind("Upgrade", "SPDY/3.1"), UpgradeKind::kSpdy);
  EXPECT_EQ(kind("close", "SPDY/3.1"), UpgradeKind::kNone);
  EXPECT_EQ(kind("Upgrade", "h2c"), UpgradeKind::kNone);
}

struct StatsTest : ::testing::Test {
  StatsTest() {
    directory.all.push_back(TestDirectory::running_pod());
    runtime.usages[main] = {.cpu_nanoseconds = 1'000'000'000, .memory_bytes = 1000};
  }
  testing::ManualLoop loop;
  TestRuntime runtime{loop};
  TestDirectory directory;
  const ContainerId main{"u1", "main", 0};
};

TEST_F(StatsTest, TwoSamplesMakeARate) {
  UsageSamples samples(loop, runtime, directory, "n0");
  EXPECT_EQ(samples.container(main), nullptr);
  samples.refresh();
  ASSERT_NE(samples.container(main), nullptr);
  EXPECT_FALSE(samples.container(main)->nano_cores);
  runtime.usages[main].cpu_nanoseconds += 5'000'000'000;
  loop.advance(std::chrono::seconds(10));
  // Half a core over ten seconds; the clock sampled by itself.
  EXPECT_EQ(samples.container(main)->nano_cores, 500'000'000);
  EXPECT_EQ(samples.node()->nano_cores, 500'000'000);
  samples.refresh();
  EXPECT_EQ(samples.container(main)->nano_cores, 500'000'000) << "too soon to sample again";
  directory.all.clear();
  loop.advance(std::chrono::seconds(10));
  EXPECT_EQ(samples.container(main), nullptr);
}

TEST_F(StatsTest, DocumentsSayWhatIsUsed) {
  UsageSamples samples(loop, runtime, directory, "n0",
                       [] { return Result<Usage>(Usage{.cpu_nanoseconds = 2'500'000'000, .memory_bytes = 4096}); });
  samples.refresh();
  const auto usage = usage_of("n0", loop.clock().wall(), directory.all, samples);
  const auto summary = summary_of(usage);
  EXPECT_EQ(json::string_at(summary, {"node", "nodeName"}), "n0");
  EXPECT_EQ(*json::find(summary, {"node", "memory", "workingSetBytes"}), json::Value(4096));
  const auto& pod = summary.at("pods").as_array().at(0);
  EXPECT_EQ(json::string_at(pod, {"podRef", "name"}), "web");
  EXPECT_EQ(pod.at("cpu").at("usageCoreNanoSeconds"), json::Value(1'000'000'000));
  EXPECT_EQ(pod.at("containers").as_array().at(0).at("memory").at("workingSetBytes"), json::Value(1000));
  const auto metrics = resource_metrics_of(usage);
  for (const char* line :
       {"container_cpu_usage_seconds_total{container=\"main\",namespace=\"default\",pod=\"web\"} 1 1767225600000\n",
        "pod_memory_working_set_bytes{namespace=\"default\",pod=\"web\"} 1000 1767225600000\n",
        "node_cpu_usage_seconds_total 2.5 1767225600000\n", "# TYPE node_memory_working_set_bytes gauge\n",
        "resource_scrape_error 0\n"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line << "in\n" << metrics;
}

TEST(MachineUsage, IsReadOffTheKernelsTexts) {
  const auto usage = machine_usage_of("cpu  100 10 50 1000 200 5 5 30 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n",
                                      "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:   400 kB\n", 100);
  ASSERT_TRUE(usage);
  // 200 ticks of 10 ms were neither idle nor waiting for a disk.
  EXPECT_EQ(usage->cpu_nanoseconds, 2'000'000'000);
  EXPECT_EQ(usage->memory_bytes, 600 * 1024);
  EXPECT_FALSE(machine_usage_of("", "", 100));
  EXPECT_TRUE(machine_usage());
}

}  // namespace
}  // namespace gangway::agent
