// Objects as the store and the watch caches keep them: immutable JSON bytes and a small header.
//
// A Version never changes and is shared between threads. The header holds just what lists, watches, selectors, garbage
// collection and authorisation need, so that none of them parses JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace gangway::api {

// The store's logical clock, the number in metadata.resourceVersion. 0 is "never".
using Revision = std::uint64_t;

using StringPairs = std::vector<std::pair<std::string, std::string>>;  // sorted by key

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;
};

// Which object of a resource. Cluster-scoped objects have an empty ns. Ordered by (ns, name), as lists are.
struct ObjectName {
  std::string ns;
  std::string name;
  auto operator<=>(const ObjectName&) const = default;
};

// Where objects are stored: "pods", "deployments.apps", "mpijobs.kubeflow.org" (as CRDs are named).
using ResourceName = std::string;

struct ObjectKey {
  ResourceName resource;
  ObjectName object;
  auto operator<=>(const ObjectKey&) const = default;
};

struct Header {
  ObjectName name;
  std::string uid;
  Revision revision = 0;
  std::int64_t generation = 0;
  StringPairs labels;
  // Values of the kind's selectable fields ("spec.nodeName", …) besides metadata.name and metadata.namespace.
  StringPairs fields;
  std::vector<OwnerReference> owners;
  std::vector<std::string> finalizers;
  WallTime created;
  std::optional<WallTime> deleting_since;  // metadata.deletionTimestamp

  std::string_view label(std::string_view key) const;
  std::string_view field(std::string_view path) const;
};

struct Version {
  std::shared_ptr<const Header> header;
  std::shared_ptr<const std::string> json;

  explicit operator bool() const { return header != nullptr; }
};

// A version that has no revision yet: `json` has a gap (nothing, between two quotes) at `revision_at` where the digits
// of metadata.resourceVersion go. Only the store knows the number, and only at the moment of commit.
struct Draft {
  Header header;
  std::string json;
  std::size_t revision_at = 0;
};

// The draft as of `revision`.
Version stamp(Draft draft, Revision revision);

}  // namespace gangway::api
