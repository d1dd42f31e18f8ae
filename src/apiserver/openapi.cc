#include "apiserver/openapi.h"

#include <algorithm>
#include <cstdint>

#include "apiserver/openapi_schemas.h"
#include "base/hash.h"

namespace gangway::apiserver {
namespace {

using json::Array;
using json::Object;

// A query parameter that operations take.
struct Parameter {
  const char* name;
  const char* type;
  const char* description;
};

constexpr Parameter kDryRun{"dryRun", "string", "All: go through all steps, but store nothing."};
constexpr Parameter kFieldManager{"fieldManager", "string", "Name of who makes the change, for managedFields."};
constexpr Parameter kFieldValidation{"fieldValidation", "string",
                                     "What to do about unknown and duplicate fields: Ignore, Warn or Strict."};
constexpr Parameter kForce{"force", "boolean", "Apply: take over fields that others manage."};
constexpr Parameter kSelection[] = {
    {"labelSelector", "string", "Only objects whose labels match."},
    {"fieldSelector", "string", "Only objects whose fields match."},
    {"limit", "integer", "The largest number of objects in one answer."},
    {"continue", "string", "Where the list goes on: the token of the answer before."},
    {"resourceVersion", "string", "The version that the answer is based on."},
    {"resourceVersionMatch", "string", "How resourceVersion is to be understood: Exact or NotOlderThan."},
    {"timeoutSeconds", "integer", "When the server ends the call."},
};
constexpr Parameter kWatching[] = {
    {"watch", "boolean", "Stream the changes instead of a list."},
    {"allowWatchBookmarks", "boolean", "Send bookmarks now and then."},
    {"sendInitialEvents", "boolean", "Begin a watch with the objects that exist."},
};
constexpr Parameter kDeletion[] = {
    {"gracePeriodSeconds", "integer", "Seconds until the object is gone."},
    {"propagationPolicy", "string", "What happens to dependents: Background, Foreground or Orphan."},
    {"orphanDependents", "boolean", "Older form of propagationPolicy."},
};

Object parameter_json(const Parameter& parameter, std::string_view in = "query") {
  Object out{{"name", parameter.name},
             {"in", in},
             {"description", parameter.description},
             {"schema", Object{{"type", parameter.type}, {"uniqueItems", true}}}};
  if (in == "path") out["required"] = true;
  return out;
}

template <std::size_t N>
void add_all(Array& out, const Parameter (&parameters)[N]) {
  for (const Parameter& parameter : parameters) out.push_back(parameter_json(parameter));
}

Array parameters_of(std::string_view action) {
  Array out;
  const bool writes = action == "post" || action == "put" || action == "patch";
  if (writes || action.starts_with("delete")) out.push_back(parameter_json(kDryRun));
  if (writes) {
    out.push_back(parameter_json(kFieldManager));
    out.push_back(parameter_json(kFieldValidation));
  }
  if (action == "patch") out.push_back(parameter_json(kForce));
  if (action == "list" || action == "deletecollection") add_all(out, kSelection);
  if (action == "list") add_all(out, kWatching);
  if (action.starts_with("delete")) add_all(out, kDeletion);
  return out;
}

Object content(std::string_view component) {
  return Object{{"application/json", Object{{"schema", OpenApiComponents::reference(component)}}},
                {"application/yaml", Object{{"schema", OpenApiComponents::reference(component)}}}};
}

bool has(const std::vector<std::string>& verbs, std::string_view verb) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

// "apps" + "v1" → "AppsV1"; dots and hyphens end a word.
std::string camel(std::string_view text) {
  std::string out;
  bool start = true;
  for (const char c : text) {
    if (c == '.' || c == '-' || c == '/') {
      start = true;
    } else {
      out += start && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      start = false;
    }
  }
  return out;
}

class DocumentWriter {
 public:
  DocumentWriter(const OpenApiGroup& group, const json::SchemaSet& shared) : group_(group), components_(shared) {}

  std::string write() {
    const std::string root = "/" + openapi_path(group_.group, group_.version) + "/";
    components_.add_meta("DeleteOptions");
    components_.add_meta("Status");
    for (const OpenApiResource& resource : group_.resources) {
      if (resource.schema != nullptr) add_resource(resource, root);
    }
    return json::serialize(Object{
        {"openapi", "3.0.0"},
        {"info", Object{{"title", "Kubernetes"}, {"version", "1.33"}}},
        {"paths", std::move(paths_)},
        {"components",
         Object{{"schemas", components_.take()},
                {"securitySchemes", Object{{"BearerToken", Object{{"type", "apiKey"},
                                                                  {"name", "authorization"},
                                                                  {"in", "header"},
                                                                  {"description", "A bearer token."}}}}}}},
    });
  }

 private:
  // One operation of one path: what it takes and gives.
  struct Operation {
    const char* method;
    const char* action;
    GroupVersionKind gvk;
    std::string component;
    std::string id;  // what comes after the action in operationId
  };

  void add_resource(const OpenApiResource& resource, const std::string& root) {
    const GroupVersionKind gvk{group_.group, group_.version, resource.kind};
    const std::string component = components_.add_kind(gvk, *resource.schema);
    std::string list = component;
    if (!resource.list_kind.empty()) {
      list = components_.add_list({group_.group, group_.version, resource.list_kind}, component);
    }
    const std::string base = root + (resource.namespaced ? "namespaces/{namespace}/" : "") + resource.plural;
    const std::string id = camel(group_.group.empty() ? "core" : group_.group) + camel(group_.version) +
                           (resource.namespaced ? "Namespaced" : "") + resource.kind;
    const std::string one = base + "/{name}";
    const auto& verbs = resource.verbs;
    if (has(verbs, "list")) add(base, resource, {"get", "list", gvk, list, id});
    if (has(verbs, "create")) add(base, resource, {"post", "post", gvk, component, id});
    if (has(verbs, "deletecollection")) add(base, resource, {"delete", "deletecollection", gvk, status(), id});
    if (has(verbs, "get")) add(one, resource, {"get", "get", gvk, component, id});
    if (has(verbs, "update")) add(one, resource, {"put", "put", gvk, component, id});
    if (has(verbs, "patch")) add(one, resource, {"patch", "patch", gvk, component, id});
    if (has(verbs, "delete")) add(one, resource, {"delete", "delete", gvk, status(), id});
    if (resource.namespaced && has(verbs, "list")) {
      const std::string everywhere = root + resource.plural;
      add(everywhere, {}, {"get", "list", gvk, list, id + "ForAllNamespaces"});
    }
    for (const OpenApiSubresource& subresource : resource.subresources) {
      add_subresource(resource, subresource, one, gvk, component, id);
    }
  }

  void add_subresource(const OpenApiResource& resource, const OpenApiSubresource& subresource, const std::string& one,
                       const GroupVersionKind& parent, const std::string& parent_component, const std::string& id) {
    const GroupVersionKind gvk =
        subresource.kind.empty()
            ? parent
            : GroupVersionKind{subresource.version.empty() ? parent.group : subresource.group,
                               subresource.version.empty() ? parent.version : subresource.version, subresource.kind};
    const std::string component =
        subresource.schema != nullptr ? components_.add_kind(gvk, *subresource.schema) : parent_component;
    const std::string path = one + "/" + subresource.name;
    const std::string name = id + camel(subresource.name);
    if (has(subresource.verbs, "get")) add(path, resource, {"get", "get", gvk, component, name});
    if (has(subresource.verbs, "update")) add(path, resource, {"put", "put", gvk, component, name});
    if (has(subresource.verbs, "patch")) add(path, resource, {"patch", "patch", gvk, component, name});
    if (has(subresource.verbs, "create")) add(path, resource, {"post", "post", gvk, component, name});
  }

  std::string status() { return std::string(kMetaPrefix) + "Status"; }

  void add(const std::string& path, const OpenApiResource& resource, const Operation& operation) {
    Object& entry = paths_[path].is_object() ? paths_[path].get_object() : paths_[path].emplace_object();
    if (!entry.contains("parameters")) entry["parameters"] = path_parameters(path, resource);
    Object out{{"tags", Array{tag()}},
               {"operationId", std::string(operation.action) + operation.id},
               {"parameters", parameters_of(operation.action)},
               {"responses", Object{{"200", Object{{"description", "OK"}, {"content", content(operation.component)}}},
                                    {"401", Object{{"description", "Unauthorized"}}}}},
               {"x-kubernetes-action", operation.action},
               {"x-kubernetes-group-version-kind", gvk_json(operation.gvk)}};
    const std::string_view method = operation.method;
    if (method == "post" || method == "put") {
      out["requestBody"] =
          Object{{"required", true},
                 {"content", Object{{"*/*", Object{{"schema", OpenApiComponents::reference(operation.component)}}}}}};
    } else if (method == "patch") {
      out["requestBody"] = patch_body(resource.strategic_merge);
    } else if (method == "delete") {
      out["requestBody"] =
          Object{{"content", Object{{"*/*", Object{{"schema", OpenApiComponents::reference(std::string(kMetaPrefix) +
                                                                                           "DeleteOptions")}}}}}};
    }
    entry[method] = std::move(out);
  }

  static Object patch_body(bool strategic_merge) {
    constexpr std::string_view kStrategic = "application/strategic-merge-patch+json";
    Object content;
    for (const std::string_view type :
         {std::string_view("application/json-patch+json"), std::string_view("application/merge-patch+json"), kStrategic,
          std::string_view("application/apply-patch+yaml")}) {
      if (type == kStrategic && !strategic_merge) continue;
      content[type] = Object{{"schema", Object{{"type", "object"}}}};
    }
    return Object{{"required", true}, {"content", std::move(content)}};
  }

  static Array path_parameters(std::string_view path, const OpenApiResource& resource) {
    Array out;
    if (path.find("{name}") != std::string_view::npos) {
      const std::string description = "Name of the " + resource.kind + ".";
      out.push_back(parameter_json(Parameter{"name", "string", description.c_str()}, "path"));
    }
    if (path.find("{namespace}") != std::string_view::npos) {
      out.push_back(parameter_json(Parameter{"namespace", "string", "Namespace of the object."}, "path"));
    }
    return out;
  }

  std::string tag() const {
    std::string group = group_.group.empty() ? "core" : group_.group.substr(0, group_.group.find('.'));
    return group + "_" + group_.version;
  }

  const OpenApiGroup& group_;
  OpenApiComponents components_;
  Object paths_;
};

}  // namespace

std::string openapi_path(std::string_view group, std::string_view version) {
  std::string out = group.empty() ? "api/" : "apis/" + std::string(group) + "/";
  return out.append(version);
}

std::string openapi_document(const OpenApiGroup& group, const json::SchemaSet& shared) {
  return DocumentWriter(group, shared).write();
}

std::string openapi_hash(std::string_view document) {
  std::string out;
  for (const std::uint64_t part : {fnv1a(document, 0), fnv1a(document, 0x9E3779B97F4A7C15ULL)}) {
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789ABCDEF"[(part >> shift) & 15];
  }
  return out;
}

std::string openapi_index(const std::vector<std::pair<std::string, std::string>>& documents) {
  Object paths;
  for (const auto& [path, hash] : documents) {
    paths[path] = Object{{"serverRelativeURL", "/openapi/v3/" + path + "?hash=" + hash}};
  }
  return json::serialize(Object{{"paths", std::move(paths)}});
}

}  // namespace gangway::apiserver
