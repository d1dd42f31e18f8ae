// What every Runtime must do, run against each of them: INSTANTIATE_TEST_SUITE_P(Name, RuntimeContract, Values(make)).
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/runtime.h"

namespace gangway::agent {

// A runtime with its loop, and containers that it can run.
class RuntimeBench {
 public:
  virtual ~RuntimeBench() = default;
  virtual Runtime& runtime() = 0;
  // One that runs until it is stopped, and ends soon on SIGTERM.
  virtual ContainerSpec lasting(const ContainerId& id) = 0;
  // One that runs for a moment and ends with `code`.
  virtual ContainerSpec ending(const ContainerId& id, int code) = 0;
  // Turns the loop until `done()`; false when that takes too long.
  virtual bool turn_until(const std::function<bool()>& done) = 0;
  // The agent dies and comes back: runtime() is another one. `running`: what had been started and had not been seen to
  // end.
  virtual void restart(const std::vector<ContainerSpec>& running) = 0;
};

using MakeRuntimeBench = std::function<std::unique_ptr<RuntimeBench>()>;

class RuntimeContract : public ::testing::TestWithParam<MakeRuntimeBench>, public RuntimeSink {
 protected:
  void SetUp() override {
    bench = GetParam()();
    recover();
  }

  void on_exit(const ContainerId& container, const Exit& exit) override {
    exits[container].push_back(exit);
    EXPECT_TRUE(recovered) << "an exit was told before recover() had answered";
  }

  // Makes a call and turns the loop until its answer is there.
  template <class T>
  Result<T> wait(const std::function<void(sys::Completion<T>)>& call) {
    std::optional<Result<T>> answer;
    bool inside = true;
    call([&](Result<T> result) {
      EXPECT_FALSE(inside) << "an answer came from inside the call";
      EXPECT_FALSE(answer.has_value()) << "an answer came twice";
      answer.emplace(std::move(result));
    });
    inside = false;
    if (!bench->turn_until([&] { return answer.has_value(); })) {
      ADD_FAILURE() << "no answer";
      return internal_error("no answer");
    }
    return std::move(*answer);
  }

  Found recover() {
    recovered = false;
    auto found = wait<Found>([&](auto done) {
      bench->runtime().recover(*this, [this, done](Result<Found> result) {
        recovered = true;
        done(std::move(result));
      });
    });
    EXPECT_TRUE(found.has_value());
    return found ? *found : Found();
  }

  Sandbox make_sandbox(const std::string& uid = "pod-1") {
    SandboxSpec spec;
    spec.pod = {uid, "ns", uid, "node"};
    spec.hostname = uid;
    auto made = wait<Sandbox>([&](auto done) { bench->runtime().make_sandbox(spec, done); });
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    return made ? *made : Sandbox();
  }
  Started start(const ContainerSpec& spec) {
    auto started = wait<Started>([&](auto done) { bench->runtime().start(spec, done); });
    EXPECT_TRUE(started.has_value()) << (started ? "" : started.error().message);
    return started ? *started : Started();
  }
  bool signal(const ContainerId& id, int number) {
    return wait<void>([&](auto done) { bench->runtime().signal(id, number, done); }).has_value();
  }
  bool remove(const ContainerId& id) {
    return wait<void>([&](auto done) { bench->runtime().remove(id, done); }).has_value();
  }
  bool remove_sandbox(const std::string& uid = "pod-1") {
    return wait<void>([&](auto done) { bench->runtime().remove_sandbox(uid, done); }).has_value();
  }
  // The one exit of a container; its code is -1 when it never comes.
  Exit exit_of(const ContainerId& id) {
    if (!bench->turn_until([&] { return exits.contains(id); })) {
      Exit none;
      none.code = -1;
      return none;
    }
    return exits.at(id).front();
  }

  std::unique_ptr<RuntimeBench> bench;
  std::map<ContainerId, std::vector<Exit>> exits;
  bool recovered = false;
  const ContainerId kFirst{"pod-1", "main", 0};
  const ContainerId kSecond{"pod-1", "main", 1};
};

TEST_P(RuntimeContract, MakingASandboxTwiceGivesTheSameOne) {
  const Sandbox first = make_sandbox();
  const Sandbox again = make_sandbox();
  EXPECT_FALSE(first.addresses.empty());
  EXPECT_EQ(first.addresses, again.addresses);
  EXPECT_NE(make_sandbox("pod-2").addresses, first.addresses);
  EXPECT_TRUE(remove_sandbox("pod-2"));
  EXPECT_TRUE(remove_sandbox());
  EXPECT_TRUE(remove_sandbox()) << "what is gone is gone";
}

TEST_P(RuntimeContract, AContainerEndsOnceWithItsOwnCode) {
  make_sandbox();
  const Started started = start(bench->ending(kFirst, 7));
  const Exit exit = exit_of(kFirst);
  EXPECT_EQ(exit.code, 7);
  EXPECT_FALSE(exit.lost);
  EXPECT_GE(exit.at, started.at);
  EXPECT_TRUE(remove(kFirst));
  EXPECT_TRUE(remove(kFirst)) << "removing what is gone is a success";
  EXPECT_EQ(exits.at(kFirst).size(), 1U);
  EXPECT_TRUE(remove_sandbox());
}

TEST_P(RuntimeContract, StartingAnIdTwiceStartsItOnce) {
  make_sandbox();
  const Started first = start(bench->lasting(kFirst));
  const Started again = start(bench->lasting(kFirst));
  EXPECT_EQ(first.pid, again.pid);
  EXPECT_EQ(first.at, again.at);
  EXPECT_TRUE(signal(kFirst, SIGKILL));
  exit_of(kFirst);
  EXPECT_EQ(exits.at(kFirst).size(), 1U);
  EXPECT_TRUE(remove(kFirst));
  EXPECT_TRUE(remove_sandbox());
}

TEST_P(RuntimeContract, SignalsEndAContainer) {
  make_sandbox();
  start(bench->lasting(kFirst));
  EXPECT_TRUE(signal(kFirst, SIGTERM));
  EXPECT_EQ(exit_of(kFirst).code, 143);
  EXPECT_TRUE(remove(kFirst));
  start(bench->lasting(kSecond));
  EXPECT_TRUE(signal(kSecond, SIGKILL));
  EXPECT_EQ(exit_of(kSecond).code, 137);
  EXPECT_TRUE(signal(kSecond, SIGTERM)) << "to signal what has ended is a success";
  EXPECT_TRUE(remove(kSecond));
  EXPECT_TRUE(signal({"nobody", "c", 0}, SIGTERM));
  EXPECT_TRUE(remove_sandbox());
}

TEST_P(RuntimeContract, WhatRunsIsFoundAgain) {
  make_sandbox();
  const ContainerSpec spec = bench->lasting(kFirst);
  const Started started = start(spec);
  bench->restart({spec});
  const Found found = recover();
  ASSERT_TRUE(found.sandboxes.contains("pod-1"));
  ASSERT_EQ(found.containers.size(), 1U);
  EXPECT_EQ(found.containers.front().id, kFirst);
  ASSERT_TRUE(found.containers.front().running.has_value());
  EXPECT_EQ(found.containers.front().running->pid, started.pid);
  EXPECT_TRUE(signal(kFirst, SIGKILL));
  EXPECT_EQ(exit_of(kFirst).code, 137);
  EXPECT_TRUE(remove(kFirst));
  EXPECT_TRUE(remove_sandbox());
}

TEST_P(RuntimeContract, AnEndThatNobodySawIsToldOrFound) {
  make_sandbox();
  const ContainerSpec spec = bench->ending(kFirst, 5);
  start(spec);
  bench->restart({spec});
  const Found found = recover();
  ASSERT_EQ(found.containers.size(), 1U);
  const auto& container = found.containers.front();
  EXPECT_NE(container.running.has_value(), container.exited.has_value());
  if (container.exited) {
    EXPECT_EQ(container.exited->code, 5);
    EXPECT_FALSE(exits.contains(kFirst));
  } else {
    EXPECT_EQ(exit_of(kFirst).code, 5);
  }
  EXPECT_TRUE(remove(kFirst));
  EXPECT_TRUE(remove_sandbox());
}

TEST_P(RuntimeContract, WhatIsRemovedIsNotFoundAgain) {
  make_sandbox();
  start(bench->ending(kFirst, 0));
  exit_of(kFirst);
  EXPECT_TRUE(remove(kFirst));
  EXPECT_TRUE(remove_sandbox());
  bench->restart({});
  const Found found = recover();
  EXPECT_TRUE(found.containers.empty());
  EXPECT_TRUE(found.sandboxes.empty());
}

}  // namespace gangway::agent
