#include "apiserver/strategies/pod_label_keys.h"

#include <gtest/gtest.h>

#include "json/value.h"

namespace gangway::apiserver {
namespace {

// The pod with one required term of anti-affinity.
std::string applied(const std::string& term) {
  auto pod = json::parse(R"({"metadata":{"labels":{"version":"2","empty":""}},"spec":{"affinity":{"podAntiAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":[)" +
                         term + "]}}}}");
  apply_label_keys(*pod);
  return json::serialize(
      pod->at("spec").at("affinity").at("podAntiAffinity").at("requiredDuringSchedulingIgnoredDuringExecution").at(0));
}

TEST(PodLabelKeys, AddTheValuesThatThePodHas) {
  EXPECT_EQ(applied(R"({"labelSelector":{"matchLabels":{"app":"db"}},"matchLabelKeys":["version","empty","absent"]})"),
            R"({"labelSelector":{"matchLabels":{"app":"db"},"matchExpressions":[)"
            R"({"key":"version","operator":"In","values":["2"]},{"key":"empty","operator":"In","values":[""]}]},)"
            R"("matchLabelKeys":["version","empty","absent"]})");
}

TEST(PodLabelKeys, RuleThemOutAfterWhatIsThere) {
  EXPECT_EQ(applied(R"({"labelSelector":{"matchExpressions":[{"key":"app","operator":"Exists"}]},)"
                    R"("mismatchLabelKeys":["version"]})"),
            R"({"labelSelector":{"matchExpressions":[{"key":"app","operator":"Exists"},)"
            R"({"key":"version","operator":"NotIn","values":["2"]}]},"mismatchLabelKeys":["version"]})");
}

TEST(PodLabelKeys, LeaveATermWithoutSelectorAlone) {
  EXPECT_EQ(applied(R"({"matchLabelKeys":["version"]})"), R"({"matchLabelKeys":["version"]})");
}

TEST(PodLabelKeys, ReachPreferredTerms) {
  auto pod = json::parse(R"({"metadata":{"labels":{"version":"2"}},"spec":{"affinity":{"podAffinity":{
      "preferredDuringSchedulingIgnoredDuringExecution":[
      {"weight":1,"podAffinityTerm":{"labelSelector":{},"matchLabelKeys":["version"]}}]}}}})");
  apply_label_keys(*pod);
  EXPECT_EQ(
      json::serialize(pod->at("spec")),
      R"({"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,)"
      R"("podAffinityTerm":{"labelSelector":{"matchExpressions":[{"key":"version","operator":"In","values":["2"]}]},)"
      R"("matchLabelKeys":["version"]}}]}}})");
}

}  // namespace
}  // namespace gangway::apiserver
