// Amounts of resources as planners count them: numbers by a small id instead of names.
//
// Units are those of api/pod_requests.h: thousandths of a cpu, whole units of everything else. A table of names belongs
// to one Snapshot; ids are handed out as names come up, so nothing that is decided may depend on their order.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gangway::planning {

using ResourceId = std::uint16_t;

inline constexpr ResourceId kCpu = 0;
inline constexpr ResourceId kMemory = 1;
inline constexpr ResourceId kEphemeralStorage = 2;
inline constexpr ResourceId kPods = 3;
inline constexpr ResourceId kFirstExtended = 4;  // this one and all above: GPUs and other devices

class ResourceNames {
 public:
  ResourceId id_of(std::string_view name);
  const std::string& name_of(ResourceId id) const { return names_[id]; }
  std::size_t size() const { return names_.size(); }
  // Of the resources that count as accelerators: "nvidia.com/gpu", "amd.com/gpu" and whatever else ends in "/gpu".
  bool is_gpu(ResourceId id) const;

 private:
  std::vector<std::string> names_ = {"cpu", "memory", "ephemeral-storage", "pods"};
};

// By id; what is beyond its end is zero.
using Amounts = std::vector<std::int64_t>;
inline std::int64_t amount_of(const Amounts& amounts, ResourceId id) {
  return id < amounts.size() ? amounts[id] : 0;
}

// What a pod takes: only what is above zero, in the order of ids. Takes one of kPods too.
using Request = std::vector<std::pair<ResourceId, std::int64_t>>;
std::int64_t amount_of(const Request& request, ResourceId id);

// No amount is larger, so that no sum of them wraps; who fills a Snapshot cuts what users write down to it.
inline constexpr std::int64_t kLargestAmount = std::int64_t{1} << 50;

void add(Amounts& sum, const Request& request);
void subtract(Amounts& sum, const Request& request);

}  // namespace gangway::planning
