#include "scheduler/rights.h"

#include "json/access.h"
#include "json/yaml.h"

namespace gangway::scheduler {
namespace {

void add_rights(const json::Value& rule, const std::string& ns, std::vector<Right>& rights) {
  std::vector<std::string> names = json::strings_at(rule, {"resourceNames"});
  if (names.empty()) names.emplace_back();
  for (const std::string& group : json::strings_at(rule, {"apiGroups"}))
    for (const std::string& resource : json::strings_at(rule, {"resources"}))
      for (const std::string& verb : json::strings_at(rule, {"verbs"}))
        for (const std::string& name : names) {
          const std::size_t slash = resource.find('/');
          rights.push_back({.verb = verb,
                            .group = group,
                            .resource = resource.substr(0, slash),
                            .subresource = slash == std::string::npos ? "" : resource.substr(slash + 1),
                            .ns = ns,
                            .name = name});
        }
}

}  // namespace

Result<std::vector<Right>> rights_of(std::string_view manifest, const std::string& ns) {
  GW_TRY(const auto documents, json::parse_yaml(manifest));
  std::vector<Right> rights;
  for (const json::Value& document : documents) {
    const std::string_view kind = json::string_at(document, {"kind"});
    if (kind != "ClusterRole" && kind != "Role") continue;
    for (const json::Value& rule : json::array_at(document, {"rules"}))
      add_rights(rule, kind == "Role" ? ns : std::string(), rights);
  }
  return rights;
}

std::string object_of(const Right& right) {
  std::string text = right.resource;
  if (!right.subresource.empty()) text += "/" + right.subresource;
  if (!right.group.empty()) text += "." + right.group;
  if (!right.name.empty()) text += " " + right.name;
  if (!right.ns.empty()) text += " in " + right.ns;
  return text;
}

json::Value review_of(const Right& right) {
  json::Object asked{{"verb", right.verb}, {"group", right.group}, {"resource", right.resource}};
  if (!right.subresource.empty()) asked["subresource"] = right.subresource;
  if (!right.ns.empty()) asked["namespace"] = right.ns;
  if (!right.name.empty()) asked["name"] = right.name;
  return json::Object{{"apiVersion", "authorization.k8s.io/v1"},
                      {"kind", "SelfSubjectAccessReview"},
                      {"spec", json::Object{{"resourceAttributes", std::move(asked)}}}};
}

}  // namespace gangway::scheduler
