// ObjectMap: the objects of one resource as of one revision, ordered by (namespace, name), as lists are.
//
// An immutable value: copying it costs a reference count, and copies may be read from any threads. A changed map shares
// all but O(log n) small nodes with the one it was made from. The key of an entry is its header's name.
// It is a B+-tree whose nodes are never changed once a map holds them; an Editor, which belongs to one thread, changes
// the nodes that it made itself in place, so that a batch of n edits does not copy its way n times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>

#include "api/object.h"

namespace gangway::store {

class ObjectMap {
  struct Node;

 public:
  class Editor;
  class Iterator;
  class Range;

  ObjectMap() = default;

  // The entry, or an empty version.
  api::Version get(const api::ObjectName& name) const;
  // The entry in place, or null. Valid as long as a map that holds it.
  const api::Version* find(const api::ObjectName& name) const;
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Whether this is the very same map, unchanged. Two maps with equal entries need not be.
  bool same_as(const ObjectMap& other) const { return root_ == other.root_; }

  // Iterators are valid as long as the map (or a copy of it) is; moving one allocates nothing.
  Iterator begin() const;
  Iterator end() const;
  // The first entry at or after `name`; after `name`.
  Iterator lower_bound(const api::ObjectName& name) const;
  Iterator upper_bound(const api::ObjectName& name) const;
  // The entries of one namespace.
  Range in_namespace(std::string_view ns) const;
  // How many entries come before `name`. O(log n): what a page leaves over is counted without a walk.
  std::size_t count_before(const api::ObjectName& name) const;

 private:
  // Neighbours of a level hold nine entries or more between them: 16 levels are beyond any memory.
  static constexpr std::size_t kMaxDepth = 16;

  ObjectMap(std::shared_ptr<const Node> root, std::size_t size) : root_(std::move(root)), size_(size) {}

  std::shared_ptr<const Node> root_;
  std::size_t size_ = 0;
};

class ObjectMap::Iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = api::Version;
  using difference_type = std::ptrdiff_t;
  using pointer = const api::Version*;
  using reference = const api::Version&;

  Iterator() = default;
  reference operator*() const { return *at_; }
  pointer operator->() const { return at_; }
  Iterator& operator++() {
    if (++at_ == leaf_end_) next_leaf();
    return *this;
  }
  Iterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Iterator& other) const { return at_ == other.at_; }

 private:
  friend class ObjectMap;
  struct Step {
    const Node* node = nullptr;
    std::size_t index = 0;
  };
  void next_leaf();
  void descend_first(const Node* node);

  const api::Version* at_ = nullptr;  // null: the end
  const api::Version* leaf_end_ = nullptr;
  std::array<Step, kMaxDepth> path_;  // the inner nodes above the leaf
  std::size_t depth_ = 0;
};

class ObjectMap::Range {
 public:
  Range(Iterator first, Iterator last) : first_(first), last_(last) {}
  const Iterator& begin() const { return first_; }
  const Iterator& end() const { return last_; }

 private:
  Iterator first_;
  Iterator last_;
};

// Edits towards a new map; the map it started from stays what it was.
class ObjectMap::Editor {
 public:
  explicit Editor(ObjectMap base);
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  // Adds or replaces the entry of that name. The version must not be empty.
  void put(api::Version version);
  // False when there was none.
  bool erase(const api::ObjectName& name);
  const api::Version* find(const api::ObjectName& name) const { return map_.find(name); }

  // The map as edited so far. What is edited afterwards does not show in it.
  ObjectMap map();

 private:
  struct Split;
  Node* editable(std::shared_ptr<const Node>& slot) const;
  Split put_into(std::shared_ptr<const Node>& slot, api::Version& version, bool& added) const;
  void erase_from(std::shared_ptr<const Node>& slot, const api::ObjectName& name) const;
  void join_small_child(Node& parent, std::size_t index) const;

  ObjectMap map_;
  std::uint64_t token_;
};

}  // namespace gangway::store
