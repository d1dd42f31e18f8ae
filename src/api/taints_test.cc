#include "api/taints.h"

#include <gtest/gtest.h>

namespace gangway::api {
namespace {

struct Case {
  const char* name;
  Toleration toleration;
  bool want;
};

// The taint is gpu=a100:NoSchedule.
const Case kCases[] = {
    {"equal", {"gpu", "Equal", "a100", "NoSchedule"}, true},
    {"equal_is_the_default", {"gpu", "", "a100", "NoSchedule"}, true},
    {"another_value", {"gpu", "Equal", "h100", "NoSchedule"}, false},
    {"exists_whatever_the_value", {"gpu", "Exists", "", "NoSchedule"}, true},
    {"another_key", {"cpu", "Exists", "", "NoSchedule"}, false},
    {"another_effect", {"gpu", "Exists", "", "NoExecute"}, false},
    {"every_effect", {"gpu", "Exists", "", ""}, true},
    {"every_key", {"", "Exists", "", ""}, true},
    {"an_unknown_operator", {"gpu", "Near", "a100", ""}, false},
};

class TolerationTest : public ::testing::TestWithParam<Case> {};

TEST_P(TolerationTest, ToleratesAsKubernetesDoes) {
  EXPECT_EQ(GetParam().toleration.tolerates({"gpu", "a100", "NoSchedule"}), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Tolerations, TolerationTest, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

TEST(TaintsTest, AreReadAndWrittenBack) {
  const auto node = json::parse(
      R"({"spec":{"taints":[{"key":"k","effect":"NoExecute","value":"v","timeAdded":"2026-01-01T00:00:05Z"},
                            {"key":"k","effect":"NoSchedule"}]}})");
  ASSERT_TRUE(node.has_value());
  const auto taints = read_taints(*node);
  ASSERT_EQ(taints.size(), 2u);
  EXPECT_EQ(taints[0], (Taint{"k", "v", "NoExecute", *parse_rfc3339("2026-01-01T00:00:05Z")}));
  EXPECT_EQ(taints[1], (Taint{"k", "", "NoSchedule"}));
  EXPECT_FALSE(taints[0].is_same_place(taints[1]));
  const json::Array& list = json::array_at(*node, {"spec", "taints"});
  EXPECT_TRUE(json::equal(to_json(taints[0]), list[0]));
  EXPECT_TRUE(json::equal(to_json(taints[1]), list[1]));
}

TEST(TaintsTest, TheFirstTolerationCounts) {
  const auto pod = json::parse(
      R"({"spec":{"tolerations":[{"key":"other","operator":"Exists"},
                                 {"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":30},
                                 {"key":"k","operator":"Exists"}]}})");
  ASSERT_TRUE(pod.has_value());
  const auto tolerations = read_tolerations(*pod);
  const Toleration* found = find_toleration(tolerations, {"k", "", "NoExecute"});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->seconds, 30);
  found = find_toleration(tolerations, {"k", "", "NoSchedule"});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->seconds, std::nullopt);
  EXPECT_EQ(find_toleration(tolerations, {"else", "", "NoSchedule"}), nullptr);
}

}  // namespace
}  // namespace gangway::api
