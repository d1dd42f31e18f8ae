#include "cli/arena/table.h"

#include <gtest/gtest.h>

namespace gangway::cli::arena {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirLongestCellAndTwoSpaces) {
  Table table;
  table.row({"NAME", "STATUS", "NODE"});
  table.row({"demo", "RUNNING", "10.0.0.8"});
  EXPECT_EQ(table.text(), "NAME  STATUS   NODE\ndemo  RUNNING  10.0.0.8\n");
}

TEST(Table, AnEmptyLastCellLeavesThePaddingBeforeIt) {
  Table table;
  table.row({"CreateTime:", "now"});
  table.row({"EndTime:", ""});
  EXPECT_EQ(table.text(), "CreateTime:  now\nEndTime:     \n");
}

TEST(Table, ALineOfItsOwnEndsTheColumnsAboveIt) {
  Table table;
  table.row({"a-long-name", "1"});
  table.line();
  table.row({"b", "2"});
  EXPECT_EQ(table.text(), "a-long-name  1\n\nb  2\n");
}

TEST(Table, AShorterLineEndsOnlyTheColumnsThatItHasNotGot) {
  Table table;
  table.row({"a", "bbbbbb", "c"});
  table.row({"aaaa", "x"});
  table.row({"a", "b", "c"});
  EXPECT_EQ(table.text(), "a     bbbbbb  c\naaaa  x\na     b  c\n");
}

TEST(Table, CharactersCountNotBytes) {
  Table table;
  table.row({"é", "x"});
  table.row({"ab", "y"});
  EXPECT_EQ(table.text(), "é   x\nab  y\n");
}

TEST(Table, IndentsWhatHasText) {
  Table table;
  table.row({"A", "B"});
  table.line();
  EXPECT_EQ(table.text("  "), "  A  B\n\n");
  EXPECT_EQ(dashes_under({"NAME", "GPU(Requested)"}), (std::vector<std::string>{"----", "--------------"}));
}

}  // namespace
}  // namespace gangway::cli::arena
