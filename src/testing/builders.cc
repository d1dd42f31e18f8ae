#include "testing/builders.h"

#include "base/check.h"
#include "json/merge_patch.h"

namespace gangway::testing {
namespace {

json::Array& metadata_list(json::Value& object, std::string_view key) {
  json::Value& list = json::object_at(object, {"metadata"})[key];
  if (!list.is_array()) list = json::Array();
  return list.get_array();
}

}  // namespace

json::Value parsed(std::string_view json_text) {
  auto value = json::parse(json_text);
  GW_CHECK(value.has_value());
  return *value;
}

ObjectBuilder::ObjectBuilder(std::string_view api_version, std::string_view kind, std::string_view ns,
                             std::string_view name)
    : object_(json::Object{{"apiVersion", api_version}, {"kind", kind}, {"metadata", json::Object{{"name", name}}}}) {
  if (!ns.empty()) json::object_at(object_, {"metadata"})["namespace"] = ns;
}

ObjectBuilder& ObjectBuilder::label(std::string_view key, std::string_view value) {
  json::object_at(object_, {"metadata", "labels"})[key] = value;
  return *this;
}

ObjectBuilder& ObjectBuilder::finalizer(std::string_view name) {
  metadata_list(object_, "finalizers").push_back(json::Value(name));
  return *this;
}

ObjectBuilder& ObjectBuilder::owner(std::string_view api_version, std::string_view kind, const api::Version& owner,
                                    bool controller, bool block_owner_deletion) {
  return this->owner(api_version, kind, owner.header->name.name, owner.header->uid, controller, block_owner_deletion);
}

ObjectBuilder& ObjectBuilder::owner(std::string_view api_version, std::string_view kind, std::string_view name,
                                    std::string_view uid, bool controller, bool block_owner_deletion) {
  json::Object reference{{"apiVersion", api_version}, {"kind", kind}, {"name", name}, {"uid", uid}};
  if (controller) reference["controller"] = true;
  if (block_owner_deletion) reference["blockOwnerDeletion"] = true;
  metadata_list(object_, "ownerReferences").push_back(std::move(reference));
  return *this;
}

ObjectBuilder& ObjectBuilder::with(std::string_view json_text) {
  json::apply_merge_patch(object_, parsed(json_text));
  return *this;
}

ObjectBuilder an_object(std::string_view api_version, std::string_view kind, std::string_view ns,
                        std::string_view name) {
  return {api_version, kind, ns, name};
}

ObjectBuilder a_config_map(std::string_view ns, std::string_view name) {
  return an_object("v1", "ConfigMap", ns, name);
}
ObjectBuilder a_pod(std::string_view ns, std::string_view name) {
  return an_object("v1", "Pod", ns, name);
}
ObjectBuilder a_namespace(std::string_view name) {
  return an_object("v1", "Namespace", "", name);
}

}  // namespace gangway::testing
