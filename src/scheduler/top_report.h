// The cluster at a glance: nodes and their devices, who holds what, who waits. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "client/view.h"
#include "json/value.h"
#include "planning/plan.h"
#include "planning/snapshot.h"
#include "scheduler/explain.h"

namespace gangway::scheduler {

struct TopReport {
  struct Holding {
    GangName gang;
    std::int64_t gpus = 0;
    std::int64_t pods = 0;
  };
  struct NodeLine {
    std::string name;
    std::string state;  // "cordoned", "not ready"; empty: takes pods
    std::int64_t gpus = 0;
    std::int64_t gpus_used = 0;
    std::int64_t cpu = 0;  // thousandths
    std::int64_t cpu_used = 0;
    std::int64_t memory = 0;
    std::int64_t memory_used = 0;
    std::int64_t pods = 0;
    std::vector<Holding> holdings = {};  // most GPUs first
  };
  struct Waiting {
    GangName gang;
    std::int64_t pods = 0;
    std::int64_t gpus = 0;
    std::int64_t priority = 0;
    WallTime since = {};
    std::string why = {};
  };
  WallTime now = {};
  std::vector<NodeLine> nodes = {};   // by name
  std::vector<Waiting> waiting = {};  // in line
  std::int64_t gated = 0;             // pods that are not to be placed yet
};

TopReport top_of(const planning::Snapshot& snapshot, const planning::Plan& plan);
TopReport top_of(const client::View& view);

// Lines are cut at `width`; 0: never.
std::string to_text(const TopReport& report, std::size_t width = 0);
json::Value to_json(const TopReport& report);

}  // namespace gangway::scheduler
