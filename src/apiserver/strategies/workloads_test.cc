#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/strategies/test_review.h"

namespace gangway::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr std::string_view kTemplate =
    R"({"metadata":{"labels":{"app":"a"}},"spec":{"restartPolicy":"Always","containers":[{"name":"c","image":"i"}]}})";

std::string workload(std::string_view spec) {
  return R"({"metadata":{"name":"web","namespace":"ns","uid":"u1"},"spec":{)" + std::string(spec) + "}}";
}

std::string deployment(std::string_view more = {}, std::string_view labels = R"({"app":"a"})") {
  return workload(R"("selector":{"matchLabels":)" + std::string(labels) +
                  R"(},"strategy":{"type":"RollingUpdate"},"template":)" + std::string(kTemplate) + std::string(more));
}

TEST(DeploymentStrategy, RollsByQuarters) {
  TestWrites writes("apps", "Deployment", "deployments");
  auto made = writes.create(deployment());
  EXPECT_THAT(made.problems, IsEmpty());
  EXPECT_EQ(made.object.at("spec").at("strategy").at("rollingUpdate").at("maxSurge"), "25%");
  EXPECT_EQ(made.object.at("spec").at("template").at("spec").at("containers").as_array()[0].at("imagePullPolicy"),
            "Always");
  EXPECT_EQ(made.object.at("status"), json::Value(json::Object()));
}

TEST(DeploymentStrategy, RefusesWhatItCannotSelect) {
  TestWrites writes("apps", "Deployment", "deployments");
  EXPECT_THAT(
      writes.create(deployment("", R"({"app":"b"})")).problems,
      ElementsAre("spec.template.metadata.labels: Invalid value: map[string]string{\"app\":\"a\"}: `selector` does "
                  "not match template `labels`"));
  EXPECT_THAT(
      writes.create(deployment("", "{}")).problems,
      ElementsAre("spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{}, "
                  "MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for deployment"));
  auto made = writes.create(deployment()).object;
  auto changed = made;
  changed.at("spec").at("selector").as_object()["matchLabels"] = json::Object{{"app", "b"}};
  changed.at("spec").at("template").at("metadata").as_object()["labels"] = json::Object{{"app", "b"}};
  EXPECT_THAT(
      writes.update(made, json::serialize(changed)).problems,
      ElementsAre("spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{\"app\":\"b\"}, "
                  "MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable"));
  changed.at("spec").as_object().erase("selector");
  EXPECT_THAT(writes.update(made, json::serialize(changed)).problems,
              ::testing::Contains("spec.selector: Invalid value: \"null\": field is immutable"));
}

TEST(DeploymentStrategy, NeedsASelectorThatCanBeRead) {
  TestWrites writes("apps", "Deployment", "deployments");
  // That it is missing is the schema's to say.
  EXPECT_THAT(
      writes.create(workload(R"("strategy":{"type":"Recreate"},"template":)" + std::string(kTemplate))).problems,
      ElementsAre("spec.template.metadata.labels: Invalid value: map[string]string{\"app\":\"a\"}: `selector` does "
                  "not match template `labels`"));
  // Nothing is said of the template then, wrong as it is.
  EXPECT_THAT(
      writes.create(workload(R"("selector":{"matchExpressions":[{"key":"a","operator":"Near"}]},"template":{})"))
          .problems,
      ElementsAre("spec.selector.matchExpressions[0].operator: Invalid value: \"Near\": not a valid selector operator",
                  "spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), "
                  "MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:\"a\", "
                  "Operator:\"Near\", Values:[]string(nil)}}}: invalid label selector"));
}

TEST(DeploymentStrategy, NamesTheFieldOfEachMistake) {
  struct Mistake {
    std::string_view more;
    std::vector<std::string> problems;
  };
  const Mistake kMistakes[] = {
      {R"(,"strategy":{"type":"Recreate","rollingUpdate":{}})",
       {"spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"}},
      {R"(,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":0}})",
       {"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"}},
      {R"(,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":"110%"}})",
       {"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"110%\": must not be greater than 100%"}},
      {R"(,"progressDeadlineSeconds":5,"minReadySeconds":5)",
       {"spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"}},
      {R"(,"template":{"metadata":{"labels":{"app":"a"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":""}]}})",
       {"spec.template.spec.containers[0].image: Required value",
        "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""}},
  };
  for (const auto& mistake : kMistakes) {
    TestWrites writes("apps", "Deployment", "deployments");
    EXPECT_THAT(writes.create(deployment(mistake.more)).problems, ElementsAreArray(mistake.problems)) << mistake.more;
  }
}

TEST(StatefulSetStrategy, FillsInHowItIsUpdated) {
  struct Case {
    std::string_view given;
    std::string_view filled;
  };
  const Case kCases[] = {
      {"{}", R"({"type":"RollingUpdate","rollingUpdate":{"partition":0}})"},
      {R"({"rollingUpdate":{"partition":2}})", R"({"type":"RollingUpdate","rollingUpdate":{"partition":2}})"},
      {R"({"type":"RollingUpdate"})", R"({"type":"RollingUpdate"})"},
      {R"({"type":"RollingUpdate","rollingUpdate":{}})", R"({"type":"RollingUpdate","rollingUpdate":{"partition":0}})"},
      {R"({"type":"OnDelete"})", R"({"type":"OnDelete"})"},
  };
  for (const auto& c : kCases) {
    TestWrites writes("apps", "StatefulSet", "statefulsets");
    auto made = writes.create(workload(R"("updateStrategy":)" + std::string(c.given)));
    EXPECT_TRUE(json::equal(made.object.at("spec").at("updateStrategy"), json::parse(c.filled).value())) << c.given;
  }
}

TEST(StatefulSetStrategy, LetsOnlySomeFieldsChange) {
  TestWrites writes("apps", "StatefulSet", "statefulsets");
  auto text = workload(
      R"("serviceName":"s","selector":{"matchLabels":{"app":"a"}},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{}},
      "volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{}}],"template":)" +
      std::string(kTemplate));
  auto made = writes.create(text);
  EXPECT_THAT(made.problems, IsEmpty());
  EXPECT_EQ(made.object.at("spec").at("updateStrategy").at("rollingUpdate").at("partition"), 0);
  EXPECT_EQ(made.object.at("spec").at("volumeClaimTemplates").as_array()[0].at("kind"), "PersistentVolumeClaim");
  auto scaled = made.object;
  scaled.at("spec").as_object()["replicas"] = 3;
  EXPECT_THAT(writes.update(made.object, json::serialize(scaled)).problems, IsEmpty());
  scaled.at("spec").as_object()["serviceName"] = "t";
  EXPECT_THAT(
      writes.update(made.object, json::serialize(scaled)).problems,
      ElementsAre("spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                  "'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' "
                  "and 'minReadySeconds' are forbidden"));
}

TEST(ControllerRevisionStrategy, KeepsWhatItHolds) {
  TestWrites writes("apps", "ControllerRevision", "controllerrevisions");
  constexpr std::string_view kFirst = R"({"metadata":{"name":"r","namespace":"ns"},"data":{"a":1},"revision":1})";
  EXPECT_THAT(writes.create(kFirst).problems, IsEmpty());
  EXPECT_THAT(writes.create(R"({"metadata":{"name":"r","namespace":"ns"},"revision":-1})").problems,
              ElementsAre("data: Required value: data is mandatory",
                          "revision: Invalid value: -1: must be greater than or equal to 0"));
  EXPECT_THAT(
      writes.update(kFirst, R"({"metadata":{"name":"r","namespace":"ns"},"data":{"a":1},"revision":2})").problems,
      IsEmpty());
  EXPECT_THAT(
      writes.update(kFirst, R"({"metadata":{"name":"r","namespace":"ns"},"data":{"a":2},"revision":1})").problems,
      ::testing::SizeIs(1));
}

std::string job(std::string_view more = {}, std::string_view restart = "Never") {
  return workload(R"("template":{"spec":{"restartPolicy":")" + std::string(restart) +
                  R"(","containers":[{"name":"c","image":"i"}]}})" + std::string(more));
}

TEST(DeploymentStrategy, CountsOfAStatusFitEachOther) {
  TestWrites writes("apps", "Deployment", "deployments");
  auto made = writes.create(deployment("")).object;
  auto reported = made;
  reported.as_object()["status"] = json::Object{{"replicas", 1}, {"readyReplicas", 2}, {"availableReplicas", 1}};
  EXPECT_THAT(writes.update(made, json::serialize(reported), "status").problems,
              ElementsAre("status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"));
  reported.as_object()["status"] = json::Object{{"replicas", -1}};
  EXPECT_THAT(writes.update(made, json::serialize(reported), "status").problems,
              ElementsAre("status.replicas: Invalid value: -1: must be greater than or equal to 0",
                          "status.updatedReplicas: Invalid value: 0: cannot be greater than status.replicas",
                          "status.readyReplicas: Invalid value: 0: cannot be greater than status.replicas",
                          "status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas"));
}

TEST(JobStrategy, GeneratesSelectorAndDefaults) {
  TestWrites writes("batch", "Job", "jobs");
  auto made = writes.create(job());
  EXPECT_THAT(made.problems, IsEmpty());
  const auto& spec = made.object.at("spec");
  EXPECT_EQ(spec.at("completions"), 1);
  EXPECT_EQ(spec.at("parallelism"), 1);
  EXPECT_EQ(spec.at("backoffLimit"), 6);
  EXPECT_EQ(spec.at("podReplacementPolicy"), "TerminatingOrFailed");
  EXPECT_EQ(spec.at("selector").at("matchLabels").at("batch.kubernetes.io/controller-uid"), "u1");
  const auto& labels = spec.at("template").at("metadata").at("labels").as_object();
  EXPECT_EQ(labels.at("job-name"), "web");
  EXPECT_EQ(labels.at("batch.kubernetes.io/job-name"), "web");
  EXPECT_EQ(labels.at("controller-uid"), "u1");
  auto queue = writes.create(job(R"(,"parallelism":3)")).object;
  EXPECT_FALSE(queue.at("spec").as_object().contains("completions"));
  auto indexed = writes.create(job(R"(,"completions":3,"completionMode":"Indexed","backoffLimitPerIndex":1)")).object;
  EXPECT_EQ(indexed.at("spec").at("backoffLimit"), 2147483647);
}

TEST(JobStrategy, NamesTheFieldOfEachMistake) {
  struct Mistake {
    std::string text;
    std::vector<std::string> problems;
  };
  const Mistake kMistakes[] = {
      {job("", "Always"), {"spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""}},
      {job(R"(,"completionMode":"Indexed","parallelism":2)"),
       {"spec.completions: Required value: when completion mode is Indexed"}},
      {job(R"(,"backoffLimitPerIndex":1)"),
       {"spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"}},
      {job(R"(,"podFailurePolicy":{"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[0]}}]})"),
       {"spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator"}},
      {job(R"(,"podFailurePolicy":{"rules":[{"action":"FailIndex","onPodConditions":[{"type":"A","status":"True"}]}]})"),
       {"spec.podFailurePolicy.rules[0].action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be "
        "set"}},
      {job(R"(,"selector":{"matchLabels":{"a":"b"}})"),
       {"spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{\"a\":\"b\", "
        "\"batch.kubernetes.io/controller-uid\":\"u1\"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: "
        "`selector` "
        "not auto-generated",
        "spec.template.metadata.labels: Invalid value: "
        "map[string]string{\"batch.kubernetes.io/controller-uid\":\"u1\", "
        "\"batch.kubernetes.io/job-name\":\"web\", \"controller-uid\":\"u1\", \"job-name\":\"web\"}: `selector` does "
        "not "
        "match template `labels`"}},
  };
  for (const auto& mistake : kMistakes) {
    TestWrites writes("batch", "Job", "jobs");
    EXPECT_THAT(writes.create(mistake.text).problems, ElementsAreArray(mistake.problems)) << mistake.text;
  }
}

TEST(JobStrategy, FreezesTheTemplateUnlessSuspended) {
  TestWrites writes("batch", "Job", "jobs");
  auto made = writes.create(job(R"(,"suspend":true)")).object;
  auto directed = made;
  directed.at("spec").at("template").at("spec").as_object()["nodeSelector"] = json::Object{{"pool", "a"}};
  EXPECT_THAT(writes.update(made, json::serialize(directed)).problems, IsEmpty());
  made.at("spec").as_object()["suspend"] = false;
  EXPECT_THAT(writes.update(made, json::serialize(directed)).problems, ::testing::SizeIs(1));
  auto more = made;
  more.at("spec").as_object()["completions"] = 2;
  EXPECT_THAT(writes.update(made, json::serialize(more)).problems,
              ElementsAre("spec.completions: Invalid value: 2: field is immutable"));
  auto wider = made;
  wider.at("spec").as_object()["parallelism"] = 2;
  EXPECT_THAT(writes.update(made, json::serialize(wider)).problems, IsEmpty());
}

}  // namespace
}  // namespace gangway::apiserver
