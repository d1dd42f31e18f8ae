#include "client/resource.h"

#include <string_view>

namespace gangway::client {

api::ResourceName resource_name(const Resource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}

std::string api_version(const Resource& resource) {
  return resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
}

std::string group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string() : std::string(api_version.substr(0, slash));
}

std::string describe(const Resource& resource, const api::ObjectName& object) {
  const std::string place = object.ns.empty() ? object.name : object.ns + "/" + object.name;
  return resource_name(resource) + " " + place;
}

}  // namespace gangway::client
