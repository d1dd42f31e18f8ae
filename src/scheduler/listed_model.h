// A cluster as the planner sees it, from objects that were listed once: for commands, which ask beside the scheduler
// that runs. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/view.h"
#include "scheduler/changes.h"
#include "scheduler/cluster_model.h"

namespace gangway::scheduler {

// Pods of other schedulers hold their room, and do not wait.
std::unique_ptr<ClusterModel> model_of(const client::View& view, const std::string& scheduler_name);

// spec.nodeSelector of a pod of the model.
planning::Labels node_selector_of(const client::View& view, const planning::Pod& pod);
std::vector<PriorityClass> priority_classes(const client::View& view);

}  // namespace gangway::scheduler
