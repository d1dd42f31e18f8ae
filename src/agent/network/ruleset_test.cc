#include "agent/network/ruleset.h"

#include <gtest/gtest.h>

#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

using Texts = std::vector<std::string>;

// nft that ends when the test says so.
class HeldNft final : public sys::CommandRunner {
 public:
  explicit HeldNft(sys::EventLoop& loop) : loop_(loop) {}
  void run(sys::Command command, sys::Completion<sys::CommandResult> done) override {
    scripts.push_back(command.input);
    done_ = std::move(done);
  }
  void end(int code = 0) {
    sys::CommandResult result;
    result.code = code;
    loop_.post([done = std::move(done_), result] { done(result); });
  }
  Texts scripts;

 private:
  sys::EventLoop& loop_;
  sys::Completion<sys::CommandResult> done_;
};

class RulesetTest : public ::testing::Test {
 protected:
  void apply(const std::string& script) {
    rules_.apply(script,
                 [this, script](const Result<void>& result) { answers_.push_back(script + (result ? "" : "!")); });
    loop_.run_until_idle();
  }
  void end(int code = 0) {
    nft_.end(code);
    loop_.run_until_idle();
  }

  testing::ManualLoop loop_;
  HeldNft nft_{loop_};
  Ruleset rules_{loop_, nft_};
  Texts answers_;
};

TEST_F(RulesetTest, OfThoseThatWaitOnlyTheNewestIsBrought) {
  apply("a");
  apply("b");
  apply("c");
  EXPECT_EQ(nft_.scripts, Texts{"a"});
  end();
  EXPECT_EQ(answers_, Texts{"a"});
  EXPECT_EQ(nft_.scripts, (Texts{"a", "c"}));
  end();
  EXPECT_EQ(answers_, (Texts{"a", "b", "c"}));
}

TEST_F(RulesetTest, WhatIsThereIsNotBroughtAgain) {
  apply("a");
  apply("a");
  end();
  apply("a");
  EXPECT_EQ(nft_.scripts, Texts{"a"});
  EXPECT_EQ(answers_, (Texts{"a", "a", "a"}));
}

TEST_F(RulesetTest, GoingBackWhileUnderWayIsAScriptOfItsOwn) {
  apply("a");
  apply("b");
  apply("a");
  end();
  EXPECT_EQ(nft_.scripts, (Texts{"a", "a"}));  // the first answer says nothing about what was asked for last
  end();
  EXPECT_EQ(answers_.size(), 3U);
}

TEST_F(RulesetTest, AFailureIsToldAndForgotten) {
  apply("a");
  end(1);
  EXPECT_EQ(answers_, Texts{"a!"});
  apply("a");
  end();
  EXPECT_EQ(answers_, (Texts{"a!", "a"}));
  EXPECT_EQ(nft_.scripts, (Texts{"a", "a"}));
}

}  // namespace
}  // namespace gangway::agent
