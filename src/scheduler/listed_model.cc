#include "scheduler/listed_model.h"

#include <algorithm>

#include "client/resource.h"
#include "json/access.h"
#include "json/value.h"
#include "scheduler/scheduler.h"

namespace gangway::scheduler {

std::unique_ptr<ClusterModel> model_of(const client::View& view, const std::string& scheduler_name) {
  // One of a name of its own is one of several, on a server that has a volume controller of its own too.
  const bool is_embedded = scheduler_name == Scheduler::kDefaultName;
  auto model = std::make_unique<ClusterModel>(
      scheduler_name, is_embedded ? volumes::ClaimBinding::kFollowsPods : volumes::ClaimBinding::kIsTold);
  for (const client::Resource& resource : {client::resources::kNodes, client::resources::kPods, kPodGroups})
    for (const auto& [name, version] : view.objects(resource).all()) model->touch(resource, name);
  model->update(view);
  return model;
}

planning::Labels node_selector_of(const client::View& view, const planning::Pod& pod) {
  planning::Labels labels;
  const api::Version version = view.get(client::resources::kPods, {pod.ns, pod.name});
  const auto tree = version ? json::parse(*version.json) : Result<json::Value>(json::Value());
  if (!tree) return labels;
  for (const auto& label : json::map_at(*tree, {"spec", "nodeSelector"}))
    if (label.value().is_string()) labels.emplace_back(label.key(), label.value().get_string());
  std::sort(labels.begin(), labels.end());
  return labels;
}

std::vector<PriorityClass> priority_classes(const client::View& view) {
  std::vector<PriorityClass> classes;
  for (const auto& [name, version] : view.objects(kPriorityClasses).all()) {
    const auto tree = json::parse(*version.json);
    if (!tree) continue;
    classes.push_back(
        {name.name, json::integer_at(*tree, {"value"}), json::string_at(*tree, {"preemptionPolicy"}) == "Never"});
  }
  return classes;
}

}  // namespace gangway::scheduler
