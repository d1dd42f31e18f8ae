// TestNode: a node with real containers for tests: a data directory, a bare network and an OciRuntime that can be
// dropped and started again as an agent's death does it. Everything is torn down at its end, also when the test failed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/oci/oci_runtime.h"
#include "agent/oci/test_bare_network.h"
#include "agent/oci/test_folder.h"
#include "sys/files.h"
#include "testing/manual_loop.h"

namespace gangway::agent::oci {

class TestNode : public RuntimeSink {
 public:
  TestNode() { EXPECT_TRUE(make_folders(data_dir())); }
  ~TestNode() override {
    runtime_.reset();
    const auto gone = teardown(data_dir());
    EXPECT_TRUE(gone) << gone.error().message;
  }

  // Why real containers cannot run here; empty: they can.
  static std::string lacks() {
    static const std::string kAnswer = [] {
      TestFolder folder;
      const auto support = probe(folder.path());
      return support ? std::string() : support.error().front();
    }();
    return kAnswer;
  }

  // Starts an agent's runtime, as at the agent's start.
  void make_runtime(OciOptions options = {}) {
    runtime_.reset();
    options.data_dir = data_dir();
    auto support = probe(data_dir());
    ASSERT_TRUE(support);
    runtime_ = std::make_unique<OciRuntime>(loop_, network_, options, std::move(*support));
  }
  Found start(const OciOptions& options = {}) {
    make_runtime(options);
    return wait<Found>([&](auto done) { runtime_->recover(*this, done); }).value_or(Found{});
  }
  // The agent dies. Its containers go on.
  void stop() { runtime_.reset(); }

  template <class T>
  Result<T> wait(const std::function<void(sys::Completion<T>)>& call) {
    std::optional<Result<T>> answer;
    call([&](Result<T> result) { answer = std::move(result); });
    EXPECT_FALSE(answer) << "answered inside the call";
    EXPECT_TRUE(loop_.wait_for([&] { return answer.has_value(); }));
    return answer ? std::move(*answer) : internal_error("no answer");
  }

  static PodIdentity pod(const std::string& uid) {
    return {.uid = uid, .ns = "team-a", .name = "pod-" + uid, .node = "n"};
  }
  static SandboxSpec sandbox_spec(const std::string& uid) {
    SandboxSpec spec;
    spec.pod = pod(uid);
    spec.hostname = "host-" + uid;
    return spec;
  }
  Result<Sandbox> make_sandbox(SandboxSpec spec) {
    return wait<Sandbox>([&](auto done) { runtime_->make_sandbox(spec, done); });
  }
  void sandbox(const std::string& uid) {
    const auto made = make_sandbox(sandbox_spec(uid));
    ASSERT_TRUE(made) << made.error().message;
  }
  static ContainerSpec shell(const std::string& uid, const std::string& script, const std::string& name = "main",
                             unsigned attempt = 0) {
    ContainerSpec spec;
    spec.id = {.pod_uid = uid, .container = name, .attempt = attempt};
    spec.pod = pod(uid);
    spec.image = "any";
    spec.command = {"/bin/sh", "-c", script};
    return spec;
  }
  Result<Started> run(ContainerSpec spec) {
    return wait<Started>([&](auto done) { runtime_->start(spec, done); });
  }
  void begin(ContainerSpec spec) {
    const auto started = run(std::move(spec));
    ASSERT_TRUE(started) << started.error().message;
  }
  Exit exit_of(const ContainerId& id) {
    EXPECT_TRUE(loop_.wait_for([&] { return exits_.contains(id); })) << "no exit of " << id.container;
    return exits_.contains(id) ? exits_[id] : Exit{};
  }
  // Runs it to its end.
  Exit run_to_end(ContainerSpec spec) {
    const auto id = spec.id;
    const auto started = run(std::move(spec));
    EXPECT_TRUE(started) << started.error().message;
    return started ? exit_of(id) : Exit{};
  }
  std::string log_of(const ContainerId& id) const { return runtime_->log_path(pod(id.pod_uid), id); }
  // What it printed, without the dates and tags.
  std::string output(const ContainerId& id) {
    std::string result;
    const auto text = sys::read_file(log_of(id)).value_or("");
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find('\n', at), text.size());
      const auto line = text.substr(at, end - at);
      std::size_t space = 0;
      for (int field = 0; field < 3; ++field) space = line.find(' ', space) + 1;
      const bool partial = space >= 2 && line[space - 2] == 'P';  // a piece of a line that was not yet over
      result += line.substr(space) + (partial ? "" : "\n");
      at = end + 1;
    }
    return result;
  }
  bool prints(const ContainerId& id, const std::string& text) {
    return loop_.wait_for([&] { return output(id).find(text) != std::string::npos; });
  }

  void on_exit(const ContainerId& container, const Exit& exit) override {
    EXPECT_FALSE(exits_.contains(container)) << "told twice";
    exits_[container] = exit;
  }

  OciRuntime& runtime() { return *runtime_; }
  testing::ManualLoop& loop() { return loop_; }
  // Deeper than a socket's address has room for, as a home directory's is with all that is below it.
  std::string data_dir() const { return folder_.path() + "/" + std::string(100, 'd'); }
  Layout layout() const { return Layout(data_dir()); }
  bool has_exit(const ContainerId& id) const { return exits_.contains(id); }

 private:
  TestFolder folder_;
  testing::ManualLoop loop_;
  BareNetwork network_{loop_, folder_.path() + "/netns"};
  std::unique_ptr<OciRuntime> runtime_;
  std::map<ContainerId, Exit> exits_;
};

class NodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TestNode::lacks().empty()) GTEST_SKIP() << TestNode::lacks();
    node_.start();
  }
  TestNode node_;
};

}  // namespace gangway::agent::oci
