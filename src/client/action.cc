#include "client/action.h"

#include <array>
#include <utility>

#include "client/name_hash.h"
#include "client/resource.h"

namespace gangway::client {

Target target_of(const Resource& resource, const api::Version& version) {
  return {.resource = resource,
          .object = version.header->name,
          .uid = version.header->uid,
          .revision = version.header->revision};
}

Target target_by_uid(const Resource& resource, const api::Version& version) {
  return {.resource = resource, .object = version.header->name, .uid = version.header->uid, .revision = 0};
}

std::string_view verb_of(const Action& action) {
  constexpr std::array<std::string_view, std::variant_size_v<Action>> kVerbs = {
      "create", "update", "patch", "patch_status", "delete", "bind", "probe", "emit"};
  return kVerbs[action.index()];
}

Announcement take_announcement(Action& action) {
  return std::visit(
      [](auto& effect) -> Announcement {
        if constexpr (requires { effect.announce; }) return std::move(effect.announce);
        return {};
      },
      action);
}

EventSubject subject_of(const Resource& resource, std::string kind, const api::Version& version) {
  return {.api_version = api_version(resource),
          .kind = std::move(kind),
          .object = version.header->name,
          .uid = version.header->uid,
          .revision = version.header->revision};
}

std::string generated_name(std::string_view base, std::string_view owner_uid, std::string_view role,
                           std::uint64_t index, std::uint64_t attempt, std::size_t max_length) {
  const std::string hash = NameHash().mix(owner_uid).mix(role).mix(index).mix(attempt).text();
  std::string name(base.substr(0, max_length - hash.size() - 1));
  // A name may not have '.' before '-', and a cut may have left one at the end.
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
  return name + "-" + hash;
}

std::string allotment_name(bool is_group, std::string_view gang) {
  return generated_name(gang, is_group ? "group" : "pod", "allotment", 0, 0, 253);
}

}  // namespace gangway::client
