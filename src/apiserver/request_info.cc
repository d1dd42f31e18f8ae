#include "apiserver/request_info.h"

#include <algorithm>

namespace gangway::apiserver {
namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return out;
}

std::string resource_verb(std::string_view method, bool named, const sys::Query& query) {
  if (method == "GET" || method == "HEAD") {
    // A watch of one object is a watch of the collection narrowed to its name.
    if (query.flag("watch")) return "watch";
    return named ? "get" : "list";
  }
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return named ? "delete" : "deletecollection";
  return lower_case(method);
}

// The one value of a field that a list, watch or deletecollection is about.
std::string selected_value(std::string_view verb, const sys::Query& query, std::string_view field) {
  if (verb != "list" && verb != "watch" && verb != "deletecollection") return {};
  std::string_view selector = query.get("fieldSelector");
  while (!selector.empty()) {
    auto comma = selector.find(',');
    auto term = selector.substr(0, comma);
    selector = comma == std::string_view::npos ? std::string_view() : selector.substr(comma + 1);
    if (!term.starts_with(field) || !term.substr(field.size()).starts_with('=')) continue;
    term.remove_prefix(field.size() + 1);
    if (term.starts_with('=')) term.remove_prefix(1);
    return std::string(term);
  }
  return {};
}

}  // namespace

RequestInfo read_request_info(std::string_view method, const sys::Target& target) {
  RequestInfo info;
  info.path = target.path;
  info.verb = lower_case(method);
  const auto& segments = target.segments;
  std::size_t at = 0;
  if (segments.size() >= 3 && segments[0] == "api") {
    info.version = segments[1];
    at = 2;
  } else if (segments.size() >= 4 && segments[0] == "apis") {
    info.group = segments[1];
    info.version = segments[2];
    at = 3;
  } else {
    return info;
  }
  info.is_resource = true;
  // An old way to ask for a watch, which some clients still use.
  bool watch = segments[at] == "watch" && segments.size() > at + 1;
  if (watch) ++at;
  if (segments[at] == "namespaces" && segments.size() > at + 1) {
    info.ns = segments[at + 1];
    // /namespaces/x/status and /namespaces/x/finalize are subresources of the namespace, all else lies within it.
    bool about_namespace =
        segments.size() == at + 2 ||
        (segments.size() == at + 3 && (segments[at + 2] == "status" || segments[at + 2] == "finalize"));
    if (!about_namespace) at += 2;
  }
  info.resource = segments[at];
  if (segments.size() > at + 1) info.name = segments[at + 1];
  if (segments.size() > at + 2) info.subresource = segments[at + 2];
  for (std::size_t i = at + 3; i < segments.size(); ++i) info.rest += "/" + segments[i];
  info.verb = watch && method == "GET" ? "watch" : resource_verb(method, !info.name.empty(), target.query);
  read_selected(target.query, info);
  return info;
}

void read_selected(const sys::Query& query, RequestInfo& info) {
  if (info.name.empty()) info.selected_name = selected_value(info.verb, query, "metadata.name");
  info.selected_node = selected_value(info.verb, query, "spec.nodeName");
}

}  // namespace gangway::apiserver
