#include "api/node_selector.h"

#include <gtest/gtest.h>

#include <string>

namespace gangway::api {
namespace {

std::string affinity(const std::string& terms) {
  return R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" +
         terms + "]}}}}";
}

// The node is n0, with zone=a, gpus=8, empty="".
struct AffinityCase {
  const char* name;
  const char* terms;
  bool want;
};

const AffinityCase kAffinityCases[] = {
    {"no_terms", "", false},
    {"an_empty_term_selects_nothing", "{}", false},
    {"in", R"({"matchExpressions":[{"key":"zone","operator":"In","values":["b","a"]}]})", true},
    {"in_others", R"({"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]})", false},
    {"in_missing_key", R"({"matchExpressions":[{"key":"rack","operator":"In","values":[""]}]})", false},
    {"not_in", R"({"matchExpressions":[{"key":"zone","operator":"NotIn","values":["a"]}]})", false},
    {"not_in_missing_key", R"({"matchExpressions":[{"key":"rack","operator":"NotIn","values":["a"]}]})", true},
    {"exists", R"({"matchExpressions":[{"key":"empty","operator":"Exists"}]})", true},
    {"does_not_exist", R"({"matchExpressions":[{"key":"empty","operator":"DoesNotExist"}]})", false},
    {"greater", R"({"matchExpressions":[{"key":"gpus","operator":"Gt","values":["7"]}]})", true},
    {"not_greater", R"({"matchExpressions":[{"key":"gpus","operator":"Gt","values":["8"]}]})", false},
    {"less", R"({"matchExpressions":[{"key":"gpus","operator":"Lt","values":["10"]}]})", true},
    {"not_a_number", R"({"matchExpressions":[{"key":"zone","operator":"Lt","values":["10"]}]})", false},
    {"an_unknown_operator", R"({"matchExpressions":[{"key":"zone","operator":"Near","values":["a"]}]})", false},
    {"all_expressions_of_a_term",
     R"({"matchExpressions":[{"key":"zone","operator":"Exists"},{"key":"rack","operator":"Exists"}]})", false},
    {"any_term",
     R"({"matchExpressions":[{"key":"rack","operator":"Exists"}]},
        {"matchExpressions":[{"key":"zone","operator":"Exists"}]})",
     true},
    {"by_name", R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n0"]}]})", true},
    {"by_another_name", R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]})", false},
    {"by_name_and_label",
     R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n0"]}],
         "matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]})",
     false},
};

bool matches(const std::string& spec) {
  Header node;
  node.name.name = "n0";
  node.labels = {{"empty", ""}, {"gpus", "8"}, {"zone", "a"}};
  const auto pod = json::parse(R"({"spec":)" + spec + "}");
  EXPECT_TRUE(pod.has_value()) << spec;
  return pod && NodeSelector::of_pod(*pod).matches(node);
}

class AffinityTest : public ::testing::TestWithParam<AffinityCase> {};

TEST_P(AffinityTest, SelectsAsKubernetesDoes) {
  EXPECT_EQ(matches(affinity(GetParam().terms)), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Terms, AffinityTest, ::testing::ValuesIn(kAffinityCases),
                         [](const auto& each) { return each.param.name; });

TEST(NodeSelectorTest, SelectsEveryNodeWithoutAnyWish) {
  EXPECT_TRUE(matches("{}"));
  EXPECT_TRUE(matches(R"({"affinity":{"nodeAffinity":{}},"nodeSelector":{}})"));
}

TEST(NodeSelectorTest, SelectsOneNodeByName) {
  Header node;
  node.name.name = "n0";
  EXPECT_TRUE(NodeSelector::of_name("n0").matches(node));
  EXPECT_FALSE(NodeSelector::of_name("n1").matches(node));
}

TEST(NodeSelectorTest, NeedsEveryLabelOfTheSelectorAndTheAffinityToo) {
  EXPECT_TRUE(matches(R"({"nodeSelector":{"zone":"a","gpus":"8"}})"));
  EXPECT_FALSE(matches(R"({"nodeSelector":{"zone":"a","gpus":"4"}})"));
  EXPECT_FALSE(matches(R"({"nodeSelector":{"rack":""}})"));
  const std::string in_zone = affinity(R"({"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]})");
  EXPECT_FALSE(matches(in_zone.substr(0, in_zone.size() - 1) + R"(,"nodeSelector":{"gpus":"4"}})"));
}

}  // namespace
}  // namespace gangway::api
