#include "apiserver/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apiserver/status.h"
#include "json/value.h"

namespace gangway::apiserver {
namespace {

// The groups with their served versions, most preferred first, in the order in which they became known.
struct Group {
  std::string name;
  std::vector<std::string> versions;
};

std::vector<Group> groups_of(const Registry& registry, bool core) {
  std::vector<Group> groups;
  for (const auto& kind : registry.kinds()) {
    if (kind->group.empty() != core) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.name == kind->group; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{kind->group, {}});
    for (const auto& version : kind->versions) {
      if (version.served &&
          std::find(group->versions.begin(), group->versions.end(), version.name) == group->versions.end()) {
        group->versions.push_back(version.name);
      }
    }
  }
  for (auto& group : groups) std::stable_sort(group.versions.begin(), group.versions.end(), more_stable);
  std::erase_if(groups, [](const Group& group) { return group.versions.empty(); });
  return groups;
}

json::Object version_entry(std::string_view group, std::string_view version) {
  return json::Object{{"groupVersion", group_version(group, version)}, {"version", version}};
}

json::Object group_entry(const Group& group) {
  json::Array versions;
  for (const auto& version : group.versions) versions.push_back(version_entry(group.name, version));
  return json::Object{{"name", group.name},
                      {"versions", std::move(versions)},
                      {"preferredVersion", version_entry(group.name, group.versions.front())}};
}

json::Array strings(const std::vector<std::string>& values) {
  json::Array array;
  for (const auto& value : values) array.emplace_back(value);
  return array;
}

// A short hash that changes with what is stored of a kind; clients only compare it.
std::string storage_hash(const KindInfo& kind, const ServedVersion& version) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (char c : kind.qualified_resource() + "/" + version.name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  static constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (int i = 0; i < 11; ++i, hash >>= 5) text += kAlphabet[hash & 63];
  return text + "=";
}

json::Object resource_entry(const KindInfo& kind, const ServedVersion& version) {
  json::Object entry{
      {"name", kind.plural}, {"singularName", kind.singular}, {"namespaced", kind.namespaced}, {"kind", kind.kind}};
  entry["verbs"] = strings(kind.verbs);
  if (!kind.short_names.empty()) entry["shortNames"] = strings(kind.short_names);
  if (!kind.categories.empty()) entry["categories"] = strings(kind.categories);
  if (kind.stored) entry["storageVersionHash"] = storage_hash(kind, version);
  return entry;
}

json::Object subresource_entry(const KindInfo& kind, const Subresource& subresource) {
  json::Object entry{
      {"name", kind.plural + "/" + subresource.name}, {"singularName", ""}, {"namespaced", kind.namespaced}};
  if (!subresource.group.empty()) entry["group"] = subresource.group;
  if (!subresource.version.empty()) entry["version"] = subresource.version;
  entry["kind"] = subresource.kind;
  entry["verbs"] = strings(subresource.verbs);
  return entry;
}

json::Object gvk(std::string_view group, std::string_view version, std::string_view kind) {
  return json::Object{{"group", group}, {"version", version}, {"kind", kind}};
}

// The group and version of a response are told only where they are not those of the list it stands in.
json::Object aggregated_resource(const KindInfo& kind, const ServedVersion& version) {
  json::Object entry{{"resource", kind.plural},
                     {"responseKind", gvk("", "", kind.kind)},
                     {"scope", kind.namespaced ? "Namespaced" : "Cluster"},
                     {"singularResource", kind.singular}};
  entry["verbs"] = strings(kind.verbs);
  if (!kind.short_names.empty()) entry["shortNames"] = strings(kind.short_names);
  if (!kind.categories.empty()) entry["categories"] = strings(kind.categories);
  json::Array subresources;
  for (const auto& subresource : version.subresources) {
    subresources.push_back(json::Object{{"subresource", subresource.name},
                                        {"responseKind", gvk(subresource.group, subresource.version, subresource.kind)},
                                        {"verbs", strings(subresource.verbs)}});
  }
  if (!subresources.empty()) entry["subresources"] = std::move(subresources);
  return entry;
}

}  // namespace

std::string api_versions(std::string_view server_address) {
  json::Array addresses{json::Object{{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", server_address}}};
  return json::serialize(json::Object{
      {"kind", "APIVersions"}, {"versions", json::Array{"v1"}}, {"serverAddressByClientCIDRs", std::move(addresses)}});
}

std::string group_list(const Registry& registry) {
  json::Array groups;
  for (const auto& group : groups_of(registry, false)) groups.push_back(group_entry(group));
  return json::serialize(json::Object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}});
}

Result<std::string> group_document(const Registry& registry, std::string_view name) {
  for (const auto& group : groups_of(registry, false)) {
    if (group.name != name) continue;
    json::Object document{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
    for (auto& [key, value] : group_entry(group)) document[key] = value;
    return json::serialize(document);
  }
  return unknown_path();
}

Result<std::string> resource_list(const Registry& registry, std::string_view group, std::string_view version_name) {
  json::Array resources;
  for (const auto& kind : registry.kinds()) {
    const auto* version = kind->group == group ? kind->version(version_name) : nullptr;
    if (!version || !version->served) continue;
    resources.push_back(resource_entry(*kind, *version));
    for (const auto& subresource : version->subresources) resources.push_back(subresource_entry(*kind, subresource));
  }
  if (resources.empty()) return unknown_path();
  json::Object list{{"kind", "APIResourceList"}};
  if (!group.empty()) list["apiVersion"] = "v1";
  list["groupVersion"] = group_version(group, version_name);
  list["resources"] = std::move(resources);
  return json::serialize(list);
}

std::string aggregated(const Registry& registry, bool core, std::string_view document_version) {
  json::Array items;
  for (const auto& group : groups_of(registry, core)) {
    json::Array versions;
    for (const auto& name : group.versions) {
      json::Array resources;
      for (const auto& kind : registry.kinds()) {
        const auto* version = kind->group == group.name ? kind->version(name) : nullptr;
        if (version && version->served) resources.push_back(aggregated_resource(*kind, *version));
      }
      versions.push_back(
          json::Object{{"version", name}, {"resources", std::move(resources)}, {"freshness", "Current"}});
    }
    json::Object metadata{{"creationTimestamp", nullptr}};
    if (!group.name.empty()) metadata["name"] = group.name;
    items.push_back(json::Object{{"metadata", std::move(metadata)}, {"versions", std::move(versions)}});
  }
  return json::serialize(json::Object{{"kind", "APIGroupDiscoveryList"},
                                      {"apiVersion", fmt::format("apidiscovery.k8s.io/{}", document_version)},
                                      {"metadata", json::Object()},
                                      {"items", std::move(items)}});
}

}  // namespace gangway::apiserver
