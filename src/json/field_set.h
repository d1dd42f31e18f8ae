// Sets of field paths, as metadata.managedFields keeps them (FieldsV1): who set which fields.
//
// A set is a tree of sorted vectors. A node is a member (the path that ends here is in the set), has children, or both.
// A value type without hidden sharing; usable from any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace gangway::json {

// One step of a path. `text` is the field's name, or compact JSON in one canonical form: the key fields of a list item
// ({"containerPort":80,"protocol":"TCP"}, names sorted), a set's item, or an index. Equal steps have equal text.
struct PathElement {
  enum class Kind : std::uint8_t { kField, kKey, kValue, kIndex };
  Kind kind = Kind::kField;
  std::string text;

  static PathElement field(std::string_view name) { return {Kind::kField, std::string(name)}; }
  static PathElement value(const Value& value);
  // The step of a list item with these key fields.
  static PathElement key(std::vector<std::pair<std::string_view, const Value*>> fields);
  // "f:name", "k:{…}", "v:…", "i:0".
  static Result<PathElement> parse(std::string_view text);
  std::string to_string() const;
  void append_to(std::string& out) const;
  // As messages show it: ".name", "[name=\"a\"]", "[=\"x\"]", "[0]".
  void append_readable(std::string& out) const;

  bool operator==(const PathElement&) const = default;
  // The order in which Kubernetes writes them: fields, keys, values, indexes; numbers by value.
  std::strong_ordering operator<=>(const PathElement& other) const;
};

using FieldPath = std::vector<PathElement>;
// ".spec.containers[name=\"a\"].image"
std::string to_string(const FieldPath& path);

class FieldSet {
 public:
  struct Node;

  FieldSet() = default;
  // Sets of plain fields: {{"metadata", "labels"}, {"spec"}}.
  static FieldSet of_fields(std::initializer_list<std::initializer_list<std::string_view>> paths);
  // Reads FieldsV1. Steps of a kind that we do not know are left out, as Kubernetes does.
  static Result<FieldSet> parse(const Value& fields_v1);
  Value to_value(const boost::json::storage_ptr& storage = {}) const;

  bool empty() const { return nodes_.empty(); }
  void reserve(std::size_t nodes);
  std::size_t size() const;
  bool has(std::span<const PathElement> path) const;
  void insert(std::span<const PathElement> path);

  // True when the sets have a member in common.
  bool overlaps(const FieldSet& other) const;
  // The same for a set in the form that to_value() gives it, without reading all of it.
  bool overlaps_encoded(const Value& fields_v1) const;
  // In place, so that what the sets do not share is neither copied nor visited.
  void unite(FieldSet other);
  void subtract(const FieldSet& other);
  // Takes out other's members and all that is below them.
  void subtract_branches(const FieldSet& other);
  FieldSet intersection(const FieldSet& other) const;
  // The same as new sets.
  FieldSet united(FieldSet other) const;
  FieldSet difference(const FieldSet& other) const;
  FieldSet recursive_difference(const FieldSet& other) const;
  // The members that have nothing below them.
  FieldSet leaves() const;
  bool operator==(const FieldSet& other) const;

  // Calls `visit` for each member: first those of a level, then what is below, as Kubernetes lists conflicts.
  void for_each(const std::function<void(const FieldPath&)>& visit) const;

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node* find(const PathElement& element) const;
  // Finds or makes the node. Cheapest when steps arrive in order.
  Node& at(PathElement element);
  // Adds a node behind all others. Requires: it is neither empty nor out of order.
  void append(Node node);

 private:
  // Calls `change(mine, theirs)` for each step that both have, and drops the nodes which that empties.
  template <class Change>
  void change_shared(const FieldSet& other, const Change& change);

  std::vector<Node> nodes_;
};

struct FieldSet::Node {
  PathElement element;
  bool member = false;
  FieldSet children;

  bool empty() const { return !member && children.empty(); }
  bool operator==(const Node&) const = default;
};

}  // namespace gangway::json
