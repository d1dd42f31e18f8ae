// What keeps pods, and what makes pods, from running besides a place: one line each, as their status says it. Pure.
#pragma once

#include <string>
#include <vector>

#include "api/object.h"
#include "client/view.h"

namespace gangway::scheduler {

// Of a pod: gates, its end, containers that cannot start.
std::vector<std::string> notes_on_pod(const client::View& view, const api::Version& pod);
// Of what makes pods: suspended, paused, failed, or kept from making them.
std::vector<std::string> notes_on_workload(const client::View& view, const std::string& kind,
                                           const api::Version& workload, std::size_t pods);

}  // namespace gangway::scheduler
