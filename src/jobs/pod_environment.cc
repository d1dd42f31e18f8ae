#include "jobs/pod_environment.h"

#include <algorithm>
#include <utility>

#include "api/gang.h"

namespace gangway::jobs {
namespace {

json::Array& environment_of(json::Value& container) {
  return list_in(container.as_object(), "env");
}

template <class Edit>
void for_each_container(json::Value& pod, Edit edit) {
  json::Value* containers = json::find(pod, {"spec", "containers"});
  if (containers == nullptr || !containers->is_array()) return;
  for (json::Value& container : containers->get_array())
    if (container.is_object()) edit(container);
}

}  // namespace

void add_variables(json::Value& container, const Variables& variables) {
  json::Array& env = environment_of(container);
  for (const auto& [name, value] : variables) env.push_back(json::Object{{"name", name}, {"value", value}});
}

void add_variables_to_all(json::Value& pod, const Variables& variables) {
  for_each_container(pod, [&](json::Value& container) { add_variables(container, variables); });
}

void add_missing_variables(json::Value& container, const Variables& variables) {
  for (const auto& variable : variables) {
    const json::Array& env = environment_of(container);
    const bool is_given = std::any_of(env.begin(), env.end(), [&](const json::Value& known) {
      return json::string_at(known, {"name"}) == variable.first;
    });
    if (!is_given) add_variables(container, {variable});
  }
}

void add_missing_variables_to_all(json::Value& pod, const Variables& variables) {
  for_each_container(pod, [&](json::Value& container) { add_missing_variables(container, variables); });
}

json::Array& list_in(json::Object& object, std::string_view key) {
  json::Value& list = object[key];
  if (!list.is_array()) list = json::Array();
  return list.get_array();
}

json::Value* first_container(json::Value& pod) {
  json::Value* list = json::find(pod, {"spec", "containers"});
  if (list == nullptr || !list->is_array() || list->get_array().empty()) return nullptr;
  json::Value& first = list->get_array().front();
  return first.is_object() ? &first : nullptr;
}

void add_volume(json::Value& pod, json::Object volume, std::string_view mount_path) {
  if (json::Value* container = first_container(pod))
    list_in(container->get_object(), "volumeMounts")
        .push_back(json::Object{{"name", volume["name"]}, {"mountPath", mount_path}});
  list_in(json::object_at(pod, {"spec"}), "volumes").push_back(std::move(volume));
}

Variables job_variables(const json::Value& job, std::int64_t attempt) {
  Variables variables;
  const std::string_view folder = json::string_at(job, {"metadata", "annotations", api::kCheckpointDir});
  if (!folder.empty()) variables.emplace_back("CHECKPOINT_DIR", folder);
  variables.emplace_back("GANGWAY_ATTEMPT", std::to_string(attempt));
  return variables;
}

}  // namespace gangway::jobs
