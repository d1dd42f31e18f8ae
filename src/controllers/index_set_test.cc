#include "controllers/index_set.h"

#include <gtest/gtest.h>

namespace gangway::controllers {
namespace {

struct TextCase {
  const char* name;
  const char* text;
  std::int64_t end;
  const char* want;
  std::int64_t size;
};

const TextCase kTextCases[] = {
    {"empty", "", 10, "", 0},
    {"one", "3", 10, "3", 1},
    {"range", "1-4", 10, "1-4", 4},
    {"two_in_a_row_are_a_list", "1-2", 10, "1,2", 2},
    {"neighbours_become_one", "1,2,3,5", 10, "1-3,5", 4},
    {"order_does_not_matter", "7,1,5-6", 10, "1,5-7", 4},
    {"overlaps", "1-5,3-8", 10, "1-8", 8},
    {"cut_at_the_end", "1,3-9", 5, "1,3,4", 3},
    {"all_beyond_the_end", "7,8-9", 5, "", 0},
    {"nonsense_is_left_out", "a,2,5-x,-3,4-3,9", 10, "2,9", 2},
};

class IndexSetTextTest : public ::testing::TestWithParam<TextCase> {};

TEST_P(IndexSetTextTest, ReadsAndWrites) {
  const IndexSet set = IndexSet::parse(GetParam().text, GetParam().end);
  EXPECT_EQ(set.to_string(), GetParam().want);
  EXPECT_EQ(set.size(), GetParam().size);
  EXPECT_EQ(IndexSet::parse(set.to_string(), GetParam().end), set);
}

INSTANTIATE_TEST_SUITE_P(Texts, IndexSetTextTest, ::testing::ValuesIn(kTextCases),
                         [](const auto& each) { return each.param.name; });

TEST(IndexSetTest, InsertsWhereverItBelongs) {
  IndexSet set;
  for (const std::int64_t index : {5, 3, 9, 4, 0, 8, 4}) set.insert(index);
  EXPECT_EQ(set.to_string(), "0,3-5,8,9");
  for (const std::int64_t index : {0, 3, 4, 5, 8, 9}) EXPECT_TRUE(set.contains(index)) << index;
  for (const std::int64_t index : {1, 2, 6, 7, 10}) EXPECT_FALSE(set.contains(index)) << index;
  set.insert(IndexSet::parse("1-2,6", 100));
  EXPECT_EQ(set.to_string(), "0-6,8,9");
}

TEST(IndexSetTest, FindsWhatIsMissing) {
  using Found = std::vector<std::int64_t>;
  const IndexSet set = IndexSet::parse("0,2-3,6", 10);
  EXPECT_EQ(set.missing(10, 8), (Found{1, 4, 5, 7}));
  EXPECT_EQ(set.missing(2, 8), (Found{1, 4}));
  EXPECT_EQ(set.missing(10, 4), (Found{1}));
  EXPECT_EQ(set.missing(0, 8), Found());
  EXPECT_EQ(IndexSet().missing(3, 8), (Found{0, 1, 2}));
}

TEST(IndexSetTest, CountsWhatIsInBoth) {
  const IndexSet set = IndexSet::parse("0-4,7,9-12", 100);
  EXPECT_EQ(set.count_in(IndexSet::parse("3-9,11-20", 100)), 6);  // 3 4 7 9 11 12
  EXPECT_EQ(set.count_in(IndexSet::parse("0-100", 200)), 10);
  EXPECT_EQ(set.count_in(IndexSet()), 0);
}

}  // namespace
}  // namespace gangway::controllers
