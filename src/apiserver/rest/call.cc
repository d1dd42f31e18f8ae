#include "apiserver/rest/call.h"

namespace gangway::apiserver {

Attributes attributes_of(const Call& call) {
  Attributes attributes;
  attributes.user = call.user;
  attributes.verb = call.info.verb;
  attributes.is_resource = call.info.is_resource;
  attributes.group = call.info.group;
  attributes.version = call.info.version;
  attributes.resource = call.info.resource;
  attributes.subresource = call.info.subresource;
  attributes.ns = call.info.ns;
  attributes.name = call.info.name.empty() ? call.info.selected_name : call.info.name;
  attributes.selected_node = call.info.selected_node;
  attributes.path = call.info.path;
  return attributes;
}

}  // namespace gangway::apiserver
