#include "agent/oci/tool_message.h"

#include <gtest/gtest.h>

namespace gangway::agent::oci {
namespace {

TEST(ToolMessage, FindsWhatALogLineSays) {
  EXPECT_EQ(tool_message("time=\"2026-01-01T00:00:00Z\" level=error msg=\"exec failed: \\\"x\\\": not found\"\n"),
            "exec failed: \"x\": not found");
  EXPECT_EQ(tool_message("first\ntime=\"t\" level=fatal msg=\"no\\tsuch\\nimage\" more=1\n\n"), "no\tsuch\nimage");
}

TEST(ToolMessage, TakesOtherLinesAsTheyAre) {
  EXPECT_EQ(tool_message("one\nlast line\n"), "last line");
  EXPECT_EQ(tool_message("time=\"t\" level=error"), "time=\"t\" level=error");
  EXPECT_EQ(tool_message(""), "");
}

}  // namespace
}  // namespace gangway::agent::oci
