#include "controllers/new_pod_names.h"

#include <algorithm>
#include <cstdint>

#include "client/resource.h"
#include "controllers/pod_names.h"

namespace gangway::controllers {
namespace {

using client::View;
using client::resources::kPods;

// What one look may ask for; the next one asks for more.
constexpr std::size_t kMostAtOnce = 500;

// Whether the object may have been made all the same.
bool is_in_doubt(const Error& error) {
  switch (error.reason) {
    case Reason::kTimeout:
    case Reason::kInternalError:
    case Reason::kServiceUnavailable:
    case Reason::kUnknown:
      return true;
    default:
      return false;
  }
}

struct LastLook {
  std::vector<std::string> in_doubt;
  std::vector<std::string> refused;  // may be used again
  std::uint64_t next = 0;            // above every number that was tried
  bool failed = false;
};

LastLook recall(const View& view, const PodNames& names) {
  LastLook last;
  for (const client::Setback& setback : view.setbacks()) {
    if (setback.verb != "create" || setback.resource != kPods) continue;
    last.failed = true;
    const auto number = names.number(setback.object.name);
    if (!number) continue;
    last.next = std::max(last.next, *number + 1);
    // What the mirror shows by now is no longer in doubt; and a name that somebody else has is of no use.
    if (view.objects(kPods).contains(setback.object) || setback.error.reason == Reason::kAlreadyExists) continue;
    (is_in_doubt(setback.error) ? last.in_doubt : last.refused).push_back(setback.object.name);
  }
  return last;
}

// Above the numbers of all pods that the set has, and as far as the mirror can tell of all that it had.
std::uint64_t next_number(const View& view, const api::Version& set, const PodNames& names) {
  std::uint64_t next = view.objects(kPods).departed(set.header->uid);
  std::uint64_t highest = 0;
  view.objects(kPods).for_each_owned_by(set.header->uid, [&](const api::Version& pod) {
    ++next;
    if (const auto number = names.number(pod.header->name.name)) highest = std::max(highest, *number + 1);
  });
  return std::max(next, highest);
}

}  // namespace

std::vector<std::string> names_for_new_pods(const View& view, const api::Version& set, std::size_t missing,
                                            std::size_t present) {
  const PodNames names(set.header->name.name, set.header->uid);
  LastLook last = recall(view, names);
  const std::size_t step =
      last.failed ? std::max<std::size_t>(1, last.in_doubt.size()) : std::clamp<std::size_t>(present, 1, kMostAtOnce);
  const std::size_t wanted = std::min(missing, step);
  std::vector<std::string> chosen;
  for (auto* tried : {&last.in_doubt, &last.refused})
    for (std::string& name : *tried)
      if (chosen.size() < wanted) chosen.push_back(std::move(name));
  std::uint64_t number = std::max(last.next, next_number(view, set, names));
  // All names of a set are never taken: there are more of them than a cluster has pods.
  while (chosen.size() < wanted) {
    std::string name = names.name(number++);
    if (!view.objects(kPods).contains({set.header->name.ns, name})) chosen.push_back(std::move(name));
  }
  return chosen;
}

}  // namespace gangway::controllers
