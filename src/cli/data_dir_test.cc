#include "cli/data_dir.h"

#include <gtest/gtest.h>

#include "agent/oci/layout.h"

namespace gangway::cli {
namespace {

// A pod that has ended has no sandbox any more. Its record says that it has run: without it, a restarted agent would
// run it again.
TEST(DataDir, RecordsAreNotRemovedWithASandbox) {
  const DataDir data("/data");
  const agent::oci::Layout layout(data.path());
  EXPECT_FALSE(data.agent_records().starts_with(layout.pods()));
  EXPECT_FALSE(layout.pods().starts_with(data.agent_records()));
}

}  // namespace
}  // namespace gangway::cli
