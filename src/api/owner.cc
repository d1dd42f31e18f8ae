#include "api/owner.h"

#include <algorithm>

namespace gangway::api {

const OwnerReference* controller_of(const Header& header) {
  for (const auto& owner : header.owners) {
    if (owner.controller) return &owner;
  }
  return nullptr;
}

bool is_owned_by(const Header& header, std::string_view uid) {
  return std::any_of(header.owners.begin(), header.owners.end(), [&](const auto& owner) { return owner.uid == uid; });
}

bool is_controlled_by(const Header& header, std::string_view uid) {
  const auto* controller = controller_of(header);
  return controller != nullptr && controller->uid == uid;
}

OwnerReference controller_reference(std::string_view api_version, std::string_view kind, const Header& owner) {
  return OwnerReference{.api_version = std::string(api_version),
                        .kind = std::string(kind),
                        .name = owner.name.name,
                        .uid = owner.uid,
                        .controller = true,
                        .block_owner_deletion = true};
}

json::Value to_json(const OwnerReference& owner) {
  json::Object object{
      {"apiVersion", owner.api_version}, {"kind", owner.kind}, {"name", owner.name}, {"uid", owner.uid}};
  if (owner.controller) object["controller"] = true;
  if (owner.block_owner_deletion) object["blockOwnerDeletion"] = true;
  return object;
}

void set_owner(json::Value& object, const OwnerReference& owner) {
  auto& list = json::object_at(object, {"metadata"})["ownerReferences"];
  if (!list.is_array()) list = json::Array();
  for (auto& existing : list.get_array()) {
    if (json::string_at(existing, {"uid"}) == owner.uid) {
      existing = to_json(owner);
      return;
    }
  }
  list.get_array().push_back(to_json(owner));
}

bool remove_owners(json::Value& object, const std::vector<std::string_view>& uids) {
  auto* list = json::find(object, {"metadata", "ownerReferences"});
  if (list == nullptr || !list->is_array()) return false;
  json::Array kept;
  for (const auto& owner : list->get_array()) {
    auto uid = json::string_at(owner, {"uid"});
    if (std::find(uids.begin(), uids.end(), uid) == uids.end()) kept.push_back(owner);
  }
  if (kept.size() == list->get_array().size()) return false;
  if (kept.empty()) {
    json::object_at(object, {"metadata"}).erase("ownerReferences");
  } else {
    *list = std::move(kept);
  }
  return true;
}

bool has_finalizer(const Header& header, std::string_view finalizer) {
  return std::find(header.finalizers.begin(), header.finalizers.end(), finalizer) != header.finalizers.end();
}

GroupVersion split_api_version(std::string_view api_version) {
  auto slash = api_version.find('/');
  if (slash == std::string_view::npos) return {{}, api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

}  // namespace gangway::api
