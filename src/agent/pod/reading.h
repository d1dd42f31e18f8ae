// The parts of read_pod_spec, by what they read. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/pod/pod_spec.h"
#include "json/access.h"

namespace gangway::agent {

std::vector<PodContainer> read_containers(const json::Value& spec);
std::vector<PodVolume> read_volumes(const json::Value& spec);

// {"fieldRef": …} or {"resourceFieldRef": …}
FieldReference read_field_reference(const json::Value& value);
ResourceReference read_resource_reference(const json::Value& value);

std::map<std::string, std::string> string_map(const json::Object& members);
std::string text_at(const json::Value& root, json::Path path);

}  // namespace gangway::agent
