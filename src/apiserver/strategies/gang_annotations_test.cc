#include "apiserver/strategies/gang_annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/strategies/test_review.h"

namespace gangway::apiserver {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string at(std::string_view annotation, std::string_view message) {
  return "metadata.annotations[gangway.dev/" + std::string(annotation) + "]: " + std::string(message);
}

std::string group(std::string_view annotations, std::string_view spec = R"({"minMember":4})") {
  return R"({"metadata":{"name":"g","namespace":"ns","annotations":{)" + std::string(annotations) + R"(}},"spec":)" +
         std::string(spec) + "}";
}

std::string pod(std::string_view annotations, std::string_view labels = "") {
  return R"({"metadata":{"name":"p","namespace":"ns","uid":"u","labels":{)" + std::string(labels) +
         R"(},"annotations":{)" + std::string(annotations) +
         R"(}},"spec":{"containers":[{"name":"c","image":"i:1"}]}})";
}

TestWrites groups() {
  return {"scheduling.x-k8s.io", "PodGroup", "podgroups"};
}

TestWrites pods() {
  TestWrites writes("", "Pod", "pods");
  writes.state().put("serviceaccounts", R"({"metadata":{"name":"default","namespace":"ns","resourceVersion":"1"}})");
  return writes;
}

struct Case {
  std::string annotations;
  std::vector<std::string> problems;
};

// Wrong by themselves: the same for groups and pods.
const Case kMalformed[] = {
    {R"("gangway.dev/on-preempt":"shrink")",
     {at("on-preempt", R"(Unsupported value: "shrink": supported values: "Fail", "Requeue", "Shrink")")}},
    {R"("gangway.dev/on-preempt":"")",
     {at("on-preempt", R"(Unsupported value: "": supported values: "Fail", "Requeue", "Shrink")")}},
    {R"("gangway.dev/min-runtime":"10")",
     {at("min-runtime", R"(Invalid value: "10": must be a duration such as 90s, 10m or 1h30m)")}},
    {R"("gangway.dev/min-runtime":"-1s")", {at("min-runtime", R"(Invalid value: "-1s": must not be negative)")}},
    {R"("gangway.dev/max-preemptions":"-1")",
     {at("max-preemptions", R"(Invalid value: "-1": must be a whole number, at least 0)")}},
    {R"("gangway.dev/max-preemptions":"2.5")",
     {at("max-preemptions", R"(Invalid value: "2.5": must be a whole number, at least 0)")}},
    {R"("gangway.dev/max-preemptions":"99999999999")",
     {at("max-preemptions", R"(Invalid value: "99999999999": must be a whole number, at least 0)")}},
    {R"("gangway.dev/last-checkpoint":"today")",
     {at("last-checkpoint",
         R"(Invalid value: "today": must be a time as RFC 3339 writes it, such as 2026-01-02T15:04:05Z)")}},
    {R"("gangway.dev/expected-duration":"0s")",
     {at("expected-duration", R"(Invalid value: "0s": must be more than 0)")}},
    {R"("gangway.dev/expected-duration":"soon","gangway.dev/on-preempt":"no")",
     {at("on-preempt", R"(Unsupported value: "no": supported values: "Fail", "Requeue", "Shrink")"),
      at("expected-duration", R"(Invalid value: "soon": must be a duration such as 90s, 10m or 1h30m)")}},
};

TEST(GangAnnotations, SayWhatIsWrongAndWhere) {
  for (const auto& [annotations, problems] : kMalformed) {
    EXPECT_THAT(groups().create(group(annotations)).problems, ElementsAreArray(problems)) << annotations;
    EXPECT_THAT(pods().create(pod(annotations)).problems, ElementsAreArray(problems)) << annotations;
  }
}

TEST(GangAnnotations, LateMembersSayWhoTheyAreHowManyAndWhatTheyLookLike) {
  const auto late = [](std::string_view list) {
    return groups().create(group(R"("gangway.dev/late-members":")" + std::string(list) + '"')).problems;
  };
  EXPECT_THAT(late(R"([{\"name\":\"launcher\",\"template\":{\"spec\":{\"containers\":[{}]}}}])"), IsEmpty());
  EXPECT_THAT(late("launcher"), ::testing::ElementsAre(HasSubstr("must be a JSON list of {name, count, template}")));
  EXPECT_THAT(late("[{}]"), ::testing::ElementsAre(HasSubstr("entry 0 must have a name of its own")));
  EXPECT_THAT(late(R"([{\"name\":\"a\",\"count\":0}])"),
              ::testing::ElementsAre(HasSubstr("the count of a must be a whole number, at least 1")));
  EXPECT_THAT(late(R"([{\"name\":\"a\"}])"),
              ::testing::ElementsAre(HasSubstr("the template of a must have containers")));
}

TEST(GangAnnotations, WellFormedOnesPass) {
  constexpr std::string_view kGood = R"("gangway.dev/on-preempt":"Requeue","gangway.dev/min-runtime":"0s",
      "gangway.dev/max-preemptions":"0","gangway.dev/last-checkpoint":"2026-01-02T03:04:05.5+01:00",
      "gangway.dev/expected-duration":"1h30m","gangway.dev/of-somebody-else":"?","example.com/on-preempt":"?")";
  EXPECT_THAT(groups().create(group(kGood)).problems, IsEmpty());
  EXPECT_THAT(pods().create(pod(kGood)).problems, IsEmpty());
}

TEST(GangAnnotations, OnlyAnElasticGroupCanShrink) {
  const Case kCases[] = {
      {R"("gangway.dev/on-preempt":"Shrink","gangway.dev/max-members":"5")", {}},
      {R"("gangway.dev/max-members":"4")", {}},
      {R"("gangway.dev/on-preempt":"Shrink")",
       {at("on-preempt",
           "Invalid value: \"Shrink\": Shrink needs an elastic group: annotation gangway.dev/max-members above "
           "spec.minMember (4)")}},
      {R"("gangway.dev/on-preempt":"Shrink","gangway.dev/max-members":"4")",
       {at("on-preempt",
           "Invalid value: \"Shrink\": Shrink needs an elastic group: annotation gangway.dev/max-members above "
           "spec.minMember (4)")}},
      {R"("gangway.dev/max-members":"3")",
       {at("max-members", R"(Invalid value: "3": must be at least spec.minMember (4))")}},
      {R"("gangway.dev/max-members":"0")",
       {at("max-members", R"(Invalid value: "0": must be a whole number, at least 1)")}},
  };
  for (const auto& [annotations, problems] : kCases) {
    EXPECT_THAT(groups().create(group(annotations)).problems, ElementsAreArray(problems)) << annotations;
  }
  // Without a minimum it is 1.
  constexpr std::string_view kElastic = R"("gangway.dev/on-preempt":"Shrink","gangway.dev/max-members":"2")";
  EXPECT_THAT(groups().create(group(kElastic, "{}")).problems, IsEmpty());
}

TEST(GangAnnotations, APodOfNoGroupHasNoMembers) {
  auto alone = pods().create(pod(R"("gangway.dev/on-preempt":"Shrink","gangway.dev/max-members":"2")")).problems;
  ASSERT_EQ(alone.size(), 2U);
  EXPECT_THAT(alone[0],
              HasSubstr("[gangway.dev/on-preempt]: Invalid value: \"Shrink\": Shrink needs an elastic group"));
  EXPECT_EQ(alone[1], at("max-members", "Forbidden: only a PodGroup has members, and this pod belongs to none"));

  // Controllers copy annotations to the pods they make; the group's own count.
  for (auto label : {R"("scheduling.x-k8s.io/pod-group":"g")", R"("pod-group.scheduling.sigs.k8s.io/name":"g")"}) {
    EXPECT_THAT(pods().create(pod(R"("gangway.dev/on-preempt":"Shrink")", label)).problems, IsEmpty()) << label;
  }
}

TEST(GangAnnotations, WhatWasStoredBeforeDoesNotStandInTheWay) {
  constexpr std::string_view kBad = R"("gangway.dev/min-runtime":"long")";
  auto before = pods().create(pod("")).object;
  before.at("metadata").at("annotations") = json::parse("{" + std::string(kBad) + "}").value();
  auto touched = before;
  touched.at("metadata").as_object()["labels"] = json::Object{{"a", "b"}};
  EXPECT_THAT(pods().update(before, json::serialize(touched)).problems, IsEmpty());
  touched.at("metadata").at("annotations").as_object()["x"] = "y";
  EXPECT_EQ(pods().update(before, json::serialize(touched)).problems.size(), 1U);

  EXPECT_THAT(groups().update(group(kBad), group(kBad, R"({"minMember":4,"scheduleTimeoutSeconds":5})")).problems,
              IsEmpty());
  EXPECT_EQ(groups().update(group(kBad), group(kBad, R"({"minMember":5})")).problems.size(), 1U);
  EXPECT_THAT(groups().update(group(kBad), group(kBad, R"({"minMember":5})"), "status").problems, IsEmpty());
}

}  // namespace
}  // namespace gangway::apiserver
