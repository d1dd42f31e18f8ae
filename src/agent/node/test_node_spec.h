// Nodes for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "agent/node/node_spec.h"

namespace gangway::agent {

inline Quantity amount(std::string_view text) {
  auto quantity = Quantity::parse(text);
  EXPECT_TRUE(quantity.has_value()) << text;
  return quantity.value_or(Quantity());
}

inline NodeSpec a_node() {
  NodeSpec node;
  node.name = "n0";
  node.address = "192.168.0.23";
  node.roles = {"master"};
  node.capacity = {{"cpu", amount("32")}, {"memory", amount("128Gi")}, {"nvidia.com/gpu", amount("4")}};
  node.reserved = {{"cpu", amount("200m")}};
  node.labels = {{"zone", "a"}};
  node.taints = {{"k", "v", "NoSchedule"}};
  return node;
}

inline NodeSystem a_system() {
  NodeSystem system;
  system.gangway_version = "0.1.0";
  return system;
}

}  // namespace gangway::agent
