// Where pods go in a topology. Nodes are written block/rack/host:cpus; every pod takes one cpu.
#include "planning/queueing/topology_placement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"

namespace gangway::planning::queueing {
namespace {

using testing::split;

constexpr const char* kDefault = "b1/r1/x3:1 b1/r2/x5:1 b1/r2/x1:1 b1/r2/x6:1 b2/r1/x2:1 b2/r2/x4:2";

// Hosts of one rack add up where the topology ends at racks.
Topology topology_of(const std::string& text, std::size_t levels) {
  Topology topology{.name = "default", .levels = levels};
  for (const std::string& node : split(text, ' ')) {
    const std::vector<std::string> parts = split(node, ':');
    std::vector<std::string> values = split(parts[0], '/');
    values.resize(levels);
    LowestDomain* domain = nullptr;
    for (LowestDomain& one : topology.domains)
      if (one.values == values) domain = &one;
    if (!domain) domain = &topology.domains.emplace_back(LowestDomain{values, Amounts(1)});
    domain->free[kCpu] += 1000 * std::atol(parts[1].c_str());
  }
  return topology;
}

struct TopologyCase {
  const char* name;
  const char* nodes;
  std::size_t levels;
  std::int64_t count;
  PodsToPlace::How how;
  std::size_t level;
  std::int64_t slice_size;
  std::size_t slice_level;
  const char* want;
};

constexpr auto kRequired = PodsToPlace::How::kRequired;
constexpr auto kPreferred = PodsToPlace::How::kPreferred;
constexpr auto kUnconstrained = PodsToPlace::How::kUnconstrained;

class TopologyPlacement : public ::testing::TestWithParam<TopologyCase> {};

TEST_P(TopologyPlacement, Shares) {
  const TopologyCase& row = GetParam();
  const Topology topology = topology_of(row.nodes, row.levels);
  const auto placed = place(topology, {.count = row.count,
                                       .request = {{kCpu, 1000}},
                                       .how = row.how,
                                       .level = row.level,
                                       .slice_size = row.slice_size,
                                       .slice_level = row.slice_level});
  std::string text;
  if (const auto* const misfit = std::get_if<Misfit>(&placed)) {
    text = text_of(topology, *misfit);
  } else {
    for (const DomainShare& share : std::get<std::vector<DomainShare>>(placed))
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", fmt::join(share.values, "/"), share.count);
  }
  EXPECT_EQ(text, row.want);
}

constexpr const char* kOneBlock = "b/r1/x3:2 b/r2/x5:2 b/r3/x1:1 b/r3/x6:1 b/r3/x2:1 b/r3/x4:1";

const TopologyCase kCases[] = {
    // The largest rack has 3.
    {"E1", kDefault, 3, 4, kRequired, 1, 1, 0, "topology \"default\" allows to fit only 3 out of 4 pod(s)"},
    // No rack and no block has 6: b1 (4) and 2 of b2. Of their racks: r2 (3), b2/r2 (2), then one that just takes 1.
    {"E3", kDefault, 2, 6, kPreferred, 1, 1, 0, "b1/r1:1 b1/r2:3 b2/r2:2"},
    // r3 takes all 4, so only one rack is used, although it takes four hosts.
    {"E5", kOneBlock, 3, 4, kRequired, 0, 1, 0, "b/r3/x1:1 b/r3/x2:1 b/r3/x4:1 b/r3/x6:1"},
    // A host of 3 takes one slice of 2.
    {"E7", "b/r/x3:3 b/r/x5:3 b/r/x1:3", 3, 6, kRequired, 0, 2, 2, "b/r/x1:2 b/r/x3:2 b/r/x5:2"},
    {"E9", "b/r/x:1", 3, 2, kRequired, 2, 1, 0, "topology \"default\" allows to fit only 1 out of 2 pod(s)"},

    // 3 fit into b1/r2 and nowhere else.
    {"RequiredRack", kDefault, 3, 3, kRequired, 1, 1, 0, "b1/r2/x1:1 b1/r2/x5:1 b1/r2/x6:1"},
    // 2 fit into b1/r2 (3) and b2/r2 (2): the tighter.
    {"TheTightestRack", kDefault, 3, 2, kRequired, 1, 1, 0, "b2/r2/x4:2"},
    // One pod: racks with 1 are b1/r1 and b2/r1; the first by name.
    {"EqualsByName", kDefault, 3, 1, kRequired, 1, 1, 0, "b1/r1/x3:1"},
    // 4 in a block: b1 takes all of it.
    {"RequiredBlock", kDefault, 3, 4, kRequired, 0, 1, 0, "b1/r1/x3:1 b1/r2/x1:1 b1/r2/x5:1 b1/r2/x6:1"},
    // 3: b2 has 3 and is tighter than b1 with 4. Of its racks r2 has 2, then r1.
    {"TheTightestBlock", kDefault, 3, 3, kRequired, 0, 1, 0, "b2/r1/x2:1 b2/r2/x4:2"},
    // Hosts: only x4 has 2.
    {"RequiredHost", kDefault, 3, 2, kRequired, 2, 1, 0, "b2/r2/x4:2"},
    // A preference that can be met is met.
    {"PreferredRackFits", kDefault, 3, 3, kPreferred, 1, 1, 0, "b1/r2/x1:1 b1/r2/x5:1 b1/r2/x6:1"},
    // No rack has 4; block b1 has.
    {"PreferredRackGoesUp", kDefault, 3, 4, kPreferred, 1, 1, 0, "b1/r1/x3:1 b1/r2/x1:1 b1/r2/x5:1 b1/r2/x6:1"},
    // All 7.
    {"PreferredTakesAll", kDefault, 2, 7, kPreferred, 0, 1, 0, "b1/r1:1 b1/r2:3 b2/r1:1 b2/r2:2"},
    {"PreferredTooMany", kDefault, 2, 8, kPreferred, 0, 1, 0,
     "topology \"default\" allows to fit only 7 out of 8 pod(s)"},
    // The fullest host that takes it, by name among equals.
    {"UnconstrainedOne", kDefault, 3, 1, kUnconstrained, 0, 1, 0, "b1/r1/x3:1"},
    {"UnconstrainedTwo", kDefault, 3, 2, kUnconstrained, 0, 1, 0, "b2/r2/x4:2"},
    // No host has 3: the fullest first.
    {"UnconstrainedThree", kDefault, 3, 3, kUnconstrained, 0, 1, 0, "b1/r1/x3:1 b1/r2/x1:1 b1/r2/x5:1"},
    {"NothingFree", "b/r/x:0", 3, 2, kRequired, 0, 1, 0, "topology \"default\" doesn't allow to fit any of 2 pod(s)"},
    // Slices of 2 a rack: r3 takes 2 of them, r1 and r2 one each; 3 slices are r3 and then the first of the tight ones.
    {"SlicesOfARack", kOneBlock, 3, 6, kRequired, 0, 2, 1, "b/r1/x3:2 b/r3/x1:1 b/r3/x2:1 b/r3/x4:1 b/r3/x6:1"},
    // Hosts of 1 take no slice of 2: r3 helps nobody.
    {"SlicesThatDoNotFit", kOneBlock, 3, 6, kRequired, 0, 2, 2,
     "topology \"default\" allows to fit only 2 out of 3 slice(s)"},
};

INSTANTIATE_TEST_SUITE_P(Table, TopologyPlacement, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.name); });

// Every resource counts, and what takes nothing fits everywhere.
TEST(TopologyResources, TheScarcestDecides) {
  Topology topology{.name = "t", .levels = 1};
  topology.domains = {{{"h1"}, {8000, 2}}, {{"h2"}, {3000, 9}}};
  const auto placed = place(topology, {.count = 3, .request = {{kCpu, 1000}, {kMemory, 1}}, .how = kRequired});
  EXPECT_EQ(std::get<std::vector<DomainShare>>(placed), (std::vector<DomainShare>{{{"h2"}, 3}}));
}

}  // namespace
}  // namespace gangway::planning::queueing
