// Registry: which kinds the server serves, as data.
//
// Built-in kinds come from kinds/**.yaml (embedded at build time), users' own from CustomResourceDefinitions; both are
// the same KindInfo afterwards. A Registry is immutable; when a definition changes, a new one is made that shares the
// rest with the old. Safe to read from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/metadata.h"
#include "apiserver/tables/cells.h"
#include "json/jsonpath.h"
#include "json/schema.h"
#include "store/store.h"

namespace gangway::apiserver {

struct Strategy;

// A column of `kubectl get`.
struct Column {
  std::string name;
  std::string type;
  std::string format;
  std::string description;
  int priority = 0;                    // above 0: only with -o wide
  std::optional<json::JsonPath> path;  // what to show, or
  CellFunction cell = nullptr;         // the function that computes it
  json::Value none = "";               // shown where the path leads nowhere: text, a number or a truth
};

// Where the scale subresource finds its numbers. Field names, one a step.
struct ScalePaths {
  std::vector<std::string> spec_replicas;    // {"spec", "replicas"}
  std::vector<std::string> status_replicas;  // {"status", "replicas"}
  std::vector<std::string> selector_text;    // {"status", "selector"}: a selector as a string; empty: none
  std::vector<std::string> selector_object;  // {"spec", "selector"}: a LabelSelector; empty: none
};

// An endpoint below an object: "status", "scale", "binding", …
struct Subresource {
  std::string name;
  std::string group;  // of the kind it speaks, where that is another one ("policy/v1 Eviction" of a pod)
  std::string version;
  std::string kind;
  const json::Schema* schema = nullptr;  // of the body it takes; null: none, or the kind's own
  std::vector<std::string> verbs;
};

// What one version of a kind looks like.
struct ServedVersion {
  std::string name;
  bool served = true;
  bool storage = true;
  std::string deprecation_warning;  // empty: not deprecated
  const json::Schema* schema = nullptr;
  // Custom kinds: the schema with apiVersion, kind and metadata, which users leave out, for whoever walks whole
  // objects.
  std::shared_ptr<const json::Schema> whole;
  const json::Schema* object_meta = nullptr;  // of metadata, which users' schemas leave to the server
  json::Value empty;                          // an object before anybody set a field: what a create is compared with
  std::vector<Column> columns;
  bool status_subresource = false;
  std::optional<ScalePaths> scale;
  std::vector<Subresource> subresources;  // status and scale included

  const Subresource* subresource(std::string_view name) const;
};

struct KindInfo {
  std::string group;
  std::string kind;
  std::string list_kind;
  std::string plural;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = true;
  bool built_in = false;  // from kinds/, not from a user's CustomResourceDefinition
  bool custom = false;    // behaves as custom resources do: their patches, messages, defaults and strict bodies
  bool stored = true;     // false: reviews, which are answered and forgotten
  std::vector<std::string> verbs;
  std::vector<std::string> selectable_names;  // what field selectors may name
  api::SelectableFields header_fields;        // the same, ready to be read off an object
  store::Durability durability = store::Durability::kFull;
  std::vector<ServedVersion> versions;  // most preferred first
  // The objects' home. Two kinds may share one (Event of v1 and of events.k8s.io).
  api::ResourceName storage_name;
  const Strategy* strategy = nullptr;  // never null once registered
  std::shared_ptr<const json::SchemaSet> schemas;

  const ServedVersion* version(std::string_view name) const;
  const ServedVersion& storage_version() const;
  bool has_verb(std::string_view verb) const;
  // "deployments.apps", or "pods" for the core group: how messages and CRDs name a resource.
  std::string qualified_resource() const;
};

// "v1" or "apps/v1".
std::string group_version(std::string_view group, std::string_view version);

// Kubernetes' order of versions: v2 before v1 before v1beta1 before v1alpha1 before the rest by name.
bool more_stable(std::string_view a, std::string_view b);

struct ResolvedResource {
  const KindInfo* kind = nullptr;
  const ServedVersion* version = nullptr;
};

class Registry {
 public:
  // The built-in kinds; `schemas` owns the nodes they point to.
  static std::shared_ptr<const Registry> of(std::vector<std::shared_ptr<const KindInfo>> kinds,
                                            std::shared_ptr<const json::SchemaSet> schemas);

  // The built-in kinds of this registry and one kind for each of the definitions (storage form of
  // CustomResourceDefinitions). Definitions of what is built in are left out: the names are taken.
  Result<std::shared_ptr<const Registry>> with_definitions(const std::vector<const json::Value*>& definitions) const;

  // None when the group, version or resource is not served.
  std::optional<ResolvedResource> resolve(std::string_view group, std::string_view version,
                                          std::string_view plural) const;
  // By kind, for owner references and manifests.
  std::optional<ResolvedResource> resolve_kind(std::string_view group, std::string_view version,
                                               std::string_view kind) const;
  const std::vector<std::shared_ptr<const KindInfo>>& kinds() const { return kinds_; }
  bool is_built_in(std::string_view group, std::string_view plural) const;
  bool is_built_in_group(std::string_view group) const;
  // The shared types of the built-in kinds (ObjectMeta, Status, …).
  const json::SchemaSet& shared_schemas() const { return *builtin_schemas_; }
  // Changes whenever the set of kinds does: discovery and OpenAPI are cached by it.
  std::uint64_t generation() const { return generation_; }

 private:
  void add(std::shared_ptr<const KindInfo> kind);

  std::vector<std::shared_ptr<const KindInfo>> kinds_;
  std::map<std::string, ResolvedResource, std::less<>> by_path_;  // "group/version/plural"
  std::map<std::string, ResolvedResource, std::less<>> by_kind_;  // "group/version/Kind"
  std::shared_ptr<const json::SchemaSet> builtin_schemas_;
  std::size_t builtin_count_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace gangway::apiserver
