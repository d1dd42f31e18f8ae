#include "agent/cluster_id.h"

#include <gtest/gtest.h>

namespace gangway::agent {
namespace {

TEST(ClusterId, IsShortAndStable) {
  // FNV-1a's 64-bit offset basis is cbf29ce484222325: cbf29ce4 xor 84222325 = 4fd0bfc1.
  EXPECT_EQ(cluster_short_id(""), "gw4fd0bfc1");
  // One byte: ("cbf29ce484222325" xor 61) times 100000001b3 is af63dc4c8601ec8c; af63dc4c xor 8601ec8c = 296230c0.
  EXPECT_EQ(cluster_short_id("a"), "gw296230c0");
}

TEST(ClusterId, DiffersWithThePath) {
  EXPECT_NE(cluster_short_id("/data/a"), cluster_short_id("/data/b"));
}

}  // namespace
}  // namespace gangway::agent
