// What a request asks for, read off its method and path: the verb and the resource, or a non-resource path.
#pragma once

#include <string>
#include <string_view>

#include "sys/url.h"

namespace gangway::apiserver {

struct RequestInfo {
  bool is_resource = false;
  std::string verb;  // get, list, watch, create, update, patch, delete, deletecollection; else the method in lower case
  std::string path;
  std::string group;
  std::string version;
  std::string resource;     // plural
  std::string subresource;  // "status", …, or ""
  std::string ns;
  std::string name;
  std::string selected_name;  // of a list, watch or deletecollection that selects one object by its name
  std::string selected_node;  // the same for one that selects by spec.nodeName
  std::string rest;           // what follows the subresource, for proxies
};

// Never fails: a path that names no resource is a non-resource request.
RequestInfo read_request_info(std::string_view method, const sys::Target& target);
// Sets what the field selector says of names and nodes. Requires: verb and name are set.
void read_selected(const sys::Query& query, RequestInfo& info);

}  // namespace gangway::apiserver
