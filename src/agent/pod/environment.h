// A container's environment, command and paths as it gets them: references resolved, $(NAME)s expanded. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/pod/pod_record.h"
#include "agent/pod/pod_spec.h"
#include "agent/pod/references.h"

namespace gangway::agent {

struct NodeFacts;

// Why something that a pod names cannot be had.
struct Unresolved {
  bool waiting = false;  // not known yet; there is nothing to tell anybody
  std::string message;   // `configmap "settings" not found`
};
template <class T>
using Resolved = std::variant<T, Unresolved>;

// What references are resolved against.
struct ResolveView {
  const PodSpec& pod;
  const PodRecord& record;
  const NodeFacts& node;
  const References& references;
};

using Environment = std::map<std::string, std::string>;

Resolved<Environment> resolve_environment(const ResolveView& view, const PodContainer& container);

// "$(NAME)" becomes the variable's value where there is one, "$$" a "$"; everything else stays as it is.
std::string expand(std::string_view text, const Environment& environment);
std::vector<std::string> expand_all(const std::vector<std::string>& texts, const Environment& environment);

// "metadata.name", "status.podIP", "metadata.labels['app']"; "metadata.labels" as lines of key="value".
std::string field_value(const ResolveView& view, std::string_view path);
// The amount in units of the divisor, rounded up; what has no limit is limited by the node.
std::string resource_value(const ResolveView& view, const ResourceReference& reference, const std::string& container);

// `configmap "settings" not found`, `couldn't find key k in Secret ns/name`
std::string not_found_text(KeyHolder in, std::string_view name);

}  // namespace gangway::agent
