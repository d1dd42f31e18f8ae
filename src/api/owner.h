// Owner references: who an object belongs to. Pure functions on headers and documents.
#pragma once

#include <string_view>
#include <vector>

#include "api/object.h"
#include "json/value.h"

namespace gangway::api {

// The owner that manages the object; null when there is none.
const OwnerReference* controller_of(const Header& header);
// True when one of the owners has this uid.
bool is_owned_by(const Header& header, std::string_view uid);
bool is_controlled_by(const Header& header, std::string_view uid);

// The reference by which `owner` manages what it makes.
OwnerReference controller_reference(std::string_view api_version, std::string_view kind, const Header& owner);
json::Value to_json(const OwnerReference& owner);

// Adds the reference, or replaces the one with the same uid.
void set_owner(json::Value& object, const OwnerReference& owner);
// Takes out every reference to one of `uids`, and the list with the last of them. False when there was none.
bool remove_owners(json::Value& object, const std::vector<std::string_view>& uids);

// Finalizers that deletion with propagation leaves to the garbage collector.
inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
inline constexpr std::string_view kOrphanFinalizer = "orphan";
bool has_finalizer(const Header& header, std::string_view finalizer);

// "apps/v1" → {"apps", "v1"}; "v1" → {"", "v1"}.
struct GroupVersion {
  std::string_view group;
  std::string_view version;
};
GroupVersion split_api_version(std::string_view api_version);

}  // namespace gangway::api
