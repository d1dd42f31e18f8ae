// UsageSamples: what containers and the node use, sampled on a clock, so that a counter of CPU time becomes a rate.
//
// Belongs to the agent's loop. A sample costs two small files of the kernel a container.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "agent/endpoints/pod_directory.h"
#include "agent/runtime.h"
#include "sys/event_loop.h"

namespace gangway::agent {

// What something used up to `at`, and lately.
struct UsagePoint {
  WallTime at;
  Usage usage;
  std::optional<std::int64_t> nano_cores = {};  // none until there are two samples
};

class UsageSamples {
 public:
  // `node_usage` tells what the machine as a whole uses; empty: the sum of the pods'.
  UsageSamples(sys::EventLoop& loop, const Runtime& runtime, const PodDirectory& pods, std::string node,
               std::function<Result<Usage>()> node_usage = {});
  ~UsageSamples();
  UsageSamples(const UsageSamples&) = delete;
  UsageSamples& operator=(const UsageSamples&) = delete;

  // Samples now, unless that was done a moment ago.
  void refresh();
  // Null when nothing is known of it.
  const UsagePoint* container(const ContainerId& container) const;
  const UsagePoint* node() const { return node_.point ? &*node_.point : nullptr; }

 private:
  struct Series {
    std::optional<UsagePoint> point;
    MonoTime sampled{};
    bool seen = false;
    void add(const Usage& usage, WallTime at, MonoTime now);
  };
  void sample();
  void schedule();

  sys::EventLoop& loop_;
  const Runtime& runtime_;
  const PodDirectory& pods_;
  const std::string node_name_;
  std::function<Result<Usage>()> node_usage_;
  std::map<ContainerId, Series> containers_;
  Series node_;
  std::optional<MonoTime> last_;
  sys::TimerId timer_ = sys::TimerId::kNone;
};

// Of this machine: busy time of all CPUs since its start, and memory that cannot be given up.
Result<Usage> machine_usage();
// The same from the texts of /proc/stat and /proc/meminfo. `ticks` is how many clock ticks a second has.
Result<Usage> machine_usage_of(std::string_view stat, std::string_view meminfo, std::int64_t ticks);

}  // namespace gangway::agent
