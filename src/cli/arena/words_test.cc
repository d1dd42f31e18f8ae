// Small texts: arguments, types, durations, settings, JSON for people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arena/arguments.h"
#include "cli/arena/job_type.h"
#include "cli/arena/settings.h"
#include "cli/arena/text.h"

namespace gangway::cli::arena {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

TEST(Arguments, OldSpellingsBecomeTodaysWithAWarning) {
  const Arguments given = todays_arguments({"submit", "mpi", "--syncMode=git", "--workingDir", "/x", "--gpus=1"});
  EXPECT_THAT(given.words, ElementsAre("submit", "mpi", "--sync-mode=git", "--working-dir", "/x", "--gpus=1"));
  EXPECT_THAT(given.warnings, ElementsAre("Flag --syncMode has been deprecated, please use --sync-mode instead",
                                          "Flag --workingDir has been deprecated, please use --working-dir instead"));
}

TEST(Arguments, FlagsThatMayStandAloneGetTheirValue) {
  EXPECT_THAT(todays_arguments({"--queue", "--dry-run"}).words,
              ElementsAre("--queue=" + std::string(kDefaultQueue), "--dry-run=client"));
  EXPECT_THAT(todays_arguments({"--queue=team", "--dry-run=plan"}).words,
              ElementsAre("--queue=team", "--dry-run=plan"));
}

TEST(Arguments, AnEmptyValueIsAValue) {
  EXPECT_THAT(todays_arguments({"--priority=", "next"}).words, ElementsAre("--priority", "", "next"));
}

TEST(Arguments, NothingBehindTwoDashesIsTouched) {
  EXPECT_THAT(todays_arguments({"attach", "demo", "--", "run", "--queue", "--syncMode=x"}).words,
              ElementsAre("attach", "demo", "--", "run", "--queue", "--syncMode=x"));
}

TEST(JobTypes, HaveManyNames) {
  struct Case {
    const char* word;
    JobType want;
  };
  for (const Case& one : {Case{"mpi", JobType::kMpi}, Case{"MPIJob", JobType::kMpi}, Case{"mj", JobType::kMpi},
                          Case{"py", JobType::kPytorch}, Case{"tensorflow", JobType::kTf}, Case{"tf", JobType::kTf},
                          Case{"et", JobType::kEt}, Case{"elastictraining", JobType::kEt}, Case{"rj", JobType::kRay},
                          Case{"horovod", JobType::kHorovod}}) {
    const auto type = job_type_of(one.word);
    ASSERT_TRUE(type) << one.word;
    EXPECT_EQ(*type, one.want) << one.word;
  }
  const auto unknown = job_type_of("caffe");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("unsupported job type caffe; supported are [mpi(mpijob),"));
  EXPECT_EQ(trainer_of(JobType::kPytorch), "PYTORCHJOB");
  EXPECT_EQ(printed_resource("Deployment", "apps/v1"), "deployment.apps");
  EXPECT_EQ(printed_resource("ConfigMap", "v1"), "configmap");
}

TEST(Text, DurationsAreWholeUnits) {
  using namespace std::chrono_literals;
  EXPECT_EQ(short_duration(59s), "59s");
  EXPECT_EQ(short_duration(60s), "1m");
  EXPECT_EQ(short_duration(3599s), "59m");
  EXPECT_EQ(short_duration(23h + 59min), "23h");
  EXPECT_EQ(short_duration(48h), "2d");
  EXPECT_EQ(short_duration(24h * 365), "1y");
  EXPECT_EQ(short_duration(-1s), "0s");
  EXPECT_EQ(short_duration(-2s), "<invalid>");
}

TEST(Text, NumbersInNamesAreCompared) {
  EXPECT_TRUE(natural_less("a-worker-2", "a-worker-10"));
  EXPECT_FALSE(natural_less("a-worker-10", "a-worker-2"));
  EXPECT_TRUE(natural_less("a-master-0", "a-worker-0"));
  EXPECT_FALSE(natural_less("a", "a"));
  EXPECT_TRUE(natural_less("a", "a-1"));
}

TEST(Text, JsonForPeople) {
  const json::Value value = json::Object{{"a", 1}, {"b", json::Array{"x", json::Object{}}}, {"c", json::Array{}}};
  EXPECT_EQ(indented_json(value),
            "{\n    \"a\": 1,\n    \"b\": [\n        \"x\",\n        {}\n    ],\n    \"c\": []\n}");
}

TEST(Settings, AreKeysAndValues) {
  const Settings settings =
      parse_settings("# mine\nnamespace = team-a\nimagePullSecrets=one, two\ntfjob_role_sequence=x\n");
  EXPECT_EQ(settings.ns, "team-a");
  EXPECT_THAT(settings.image_pull_secrets, ElementsAre("one", "two"));
}

}  // namespace
}  // namespace gangway::cli::arena
