#include "store/object_map.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace gangway::store {
namespace {

constexpr std::size_t kMaxEntries = 32;
// A node that shrinks below this is joined with a neighbour when the two fit into one.
constexpr std::size_t kFewEntries = kMaxEntries / 4;

std::uint64_t new_token() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

struct ObjectMap::Node {
  struct Child {
    // No name below this child is before `first`'s, and all names in the children to the left are. It may be the header
    // of an object that has been deleted or replaced since.
    std::shared_ptr<const api::Header> first;
    std::shared_ptr<const Node> node;
    std::size_t size = 0;
  };

  std::uint64_t token = 0;            // the editor that may change this node in place
  std::vector<api::Version> entries;  // of a leaf
  std::vector<Child> children;        // of an inner node; never empty there

  bool leaf() const { return children.empty(); }
  std::size_t width() const { return leaf() ? entries.size() : children.size(); }
  std::size_t total() const {
    std::size_t sum = entries.size();
    for (const auto& child : children) sum += child.size;
    return sum;
  }
  const std::shared_ptr<const api::Header>& first() const {
    return leaf() ? entries.front().header : children.front().first;
  }
  // The first entry at or after `name`.
  std::size_t entry_at(const api::ObjectName& name) const {
    auto before = [](const api::Version& v, const api::ObjectName& n) { return v.header->name < n; };
    return static_cast<std::size_t>(std::lower_bound(entries.begin(), entries.end(), name, before) - entries.begin());
  }
  bool holds(std::size_t index, const api::ObjectName& name) const {
    return index < entries.size() && entries[index].header->name == name;
  }
  // The child whose part of the order `name` is in.
  std::size_t child_at(const api::ObjectName& name) const {
    auto after = [](const api::ObjectName& n, const Child& c) { return n < c.first->name; };
    return static_cast<std::size_t>(std::upper_bound(children.begin() + 1, children.end(), name, after) -
                                    children.begin() - 1);
  }
};

const api::Version* ObjectMap::find(const api::ObjectName& name) const {
  const Node* node = root_.get();
  if (!node) return nullptr;
  while (!node->leaf()) node = node->children[node->child_at(name)].node.get();
  const auto index = node->entry_at(name);
  return node->holds(index, name) ? &node->entries[index] : nullptr;
}

api::Version ObjectMap::get(const api::ObjectName& name) const {
  const auto* found = find(name);
  return found ? *found : api::Version{};
}

ObjectMap::Iterator ObjectMap::begin() const {
  Iterator it;
  if (root_) it.descend_first(root_.get());
  return it;
}

ObjectMap::Iterator ObjectMap::end() const {
  return {};
}

ObjectMap::Iterator ObjectMap::lower_bound(const api::ObjectName& name) const {
  Iterator it;
  const Node* node = root_.get();
  if (!node) return it;
  while (!node->leaf()) {
    const auto index = node->child_at(name);
    it.path_[it.depth_++] = {node, index};
    node = node->children[index].node.get();
  }
  it.at_ = node->entries.data() + node->entry_at(name);
  it.leaf_end_ = node->entries.data() + node->entries.size();
  if (it.at_ == it.leaf_end_) it.next_leaf();
  return it;
}

ObjectMap::Iterator ObjectMap::upper_bound(const api::ObjectName& name) const {
  auto it = lower_bound(name);
  if (it != end() && it->header->name == name) ++it;
  return it;
}

ObjectMap::Range ObjectMap::in_namespace(std::string_view ns) const {
  // No string is between `ns` and `ns` with a zero byte behind it.
  std::string next(ns);
  next.push_back('\0');
  return {lower_bound({std::string(ns), ""}), lower_bound({std::move(next), ""})};
}

std::size_t ObjectMap::count_before(const api::ObjectName& name) const {
  const Node* node = root_.get();
  if (!node) return 0;
  std::size_t before = 0;
  while (!node->leaf()) {
    const auto index = node->child_at(name);
    for (std::size_t i = 0; i < index; ++i) before += node->children[i].size;
    node = node->children[index].node.get();
  }
  return before + node->entry_at(name);
}

void ObjectMap::Iterator::descend_first(const Node* node) {
  while (!node->leaf()) {
    path_[depth_++] = {node, 0};
    node = node->children.front().node.get();
  }
  at_ = node->entries.data();
  leaf_end_ = at_ + node->entries.size();
}

void ObjectMap::Iterator::next_leaf() {
  while (depth_ > 0) {
    auto& step = path_[depth_ - 1];
    if (++step.index < step.node->children.size()) {
      descend_first(step.node->children[step.index].node.get());
      return;
    }
    --depth_;
  }
  at_ = leaf_end_ = nullptr;
}

// What a node that grew too wide gave away, to go behind it in its parent; empty when it did not.
struct ObjectMap::Editor::Split {
  std::shared_ptr<const Node> right;
};

ObjectMap::Editor::Editor(ObjectMap base) : map_(std::move(base)), token_(new_token()) {}

ObjectMap ObjectMap::Editor::map() {
  // From here on the nodes made so far belong to the map that is given away.
  token_ = new_token();
  return map_;
}

// The node in `slot`, replaced by a copy of our own unless it is one already.
ObjectMap::Node* ObjectMap::Editor::editable(std::shared_ptr<const Node>& slot) const {
  if (slot->token != token_) {
    auto copy = std::make_shared<Node>();
    copy->token = token_;
    // Room for the one entry that is about to come.
    copy->entries.reserve(slot->entries.empty() ? 0 : slot->entries.size() + 1);
    copy->entries = slot->entries;
    copy->children = slot->children;
    slot = std::move(copy);
  }
  // The editor made this node as a mutable one, and no map that others see holds it yet.
  return const_cast<Node*>(slot.get());
}

namespace {

// Moves the upper part of `items` out. Appending in order, as a load does, leaves full nodes behind.
template <class T>
std::vector<T> split_off(std::vector<T>& items, bool appended) {
  const auto keep = static_cast<std::ptrdiff_t>(appended ? items.size() - 1 : items.size() / 2);
  std::vector<T> upper(std::make_move_iterator(items.begin() + keep), std::make_move_iterator(items.end()));
  items.erase(items.begin() + keep, items.end());
  return upper;
}

}  // namespace

ObjectMap::Editor::Split ObjectMap::Editor::put_into(std::shared_ptr<const Node>& slot, api::Version& version,
                                                     bool& added) const {
  Node* node = editable(slot);
  const auto& name = version.header->name;
  bool appended = false;
  if (node->leaf()) {
    const auto index = node->entry_at(name);
    if (node->holds(index, name)) {
      node->entries[index] = std::move(version);
      return {};
    }
    added = true;
    appended = index == node->entries.size();
    node->entries.insert(node->entries.begin() + static_cast<std::ptrdiff_t>(index), std::move(version));
  } else {
    const auto index = node->child_at(name);
    auto split = put_into(node->children[index].node, version, added);
    auto& child = node->children[index];
    // A name before all others went into the first child.
    if (index == 0) child.first = child.node->first();
    child.size = child.node->total();
    if (!split.right) return {};
    appended = index + 1 == node->children.size();
    Node::Child right{split.right->first(), split.right, split.right->total()};
    node->children.insert(node->children.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(right));
  }
  if (node->width() <= kMaxEntries) return {};
  auto right = std::make_shared<Node>();
  right->token = token_;
  if (node->leaf()) {
    right->entries = split_off(node->entries, appended);
  } else {
    right->children = split_off(node->children, appended);
  }
  return {std::move(right)};
}

void ObjectMap::Editor::put(api::Version version) {
  GW_CHECK(version);
  if (!map_.root_) {
    auto leaf = std::make_shared<Node>();
    leaf->token = token_;
    map_.root_ = std::move(leaf);
  }
  bool added = false;
  auto split = put_into(map_.root_, version, added);
  if (added) ++map_.size_;
  if (!split.right) return;
  auto root = std::make_shared<Node>();
  root->token = token_;
  for (auto& half : {map_.root_, split.right}) root->children.push_back({half->first(), half, half->total()});
  map_.root_ = std::move(root);
}

// Joins the child with a neighbour when both fit into one node; drops it when it is empty.
void ObjectMap::Editor::join_small_child(Node& parent, std::size_t index) const {
  auto& children = parent.children;
  const auto width = children[index].node->width();
  if (width >= kFewEntries) return;
  if (width == 0) {
    children.erase(children.begin() + static_cast<std::ptrdiff_t>(index));
    return;
  }
  for (const auto left : {index - 1, index}) {
    if (left >= children.size() || left + 1 >= children.size()) continue;
    if (children[left].node->width() + children[left + 1].node->width() > kMaxEntries) continue;
    Node* into = editable(children[left].node);
    const Node& from = *children[left + 1].node;
    into->entries.insert(into->entries.end(), from.entries.begin(), from.entries.end());
    into->children.insert(into->children.end(), from.children.begin(), from.children.end());
    children[left].size += children[left + 1].size;
    children.erase(children.begin() + static_cast<std::ptrdiff_t>(left) + 1);
    return;
  }
}

// Requires: the entry is there. May leave the node empty.
void ObjectMap::Editor::erase_from(std::shared_ptr<const Node>& slot, const api::ObjectName& name) const {
  Node* node = editable(slot);
  if (node->leaf()) {
    node->entries.erase(node->entries.begin() + static_cast<std::ptrdiff_t>(node->entry_at(name)));
    return;
  }
  const auto index = node->child_at(name);
  erase_from(node->children[index].node, name);
  --node->children[index].size;
  join_small_child(*node, index);
}

bool ObjectMap::Editor::erase(const api::ObjectName& name) {
  if (!map_.find(name)) return false;
  erase_from(map_.root_, name);
  if (--map_.size_ == 0) {
    map_.root_.reset();
    return true;
  }
  while (map_.root_->children.size() == 1) {
    auto only = map_.root_->children.front().node;
    map_.root_ = std::move(only);
  }
  return true;
}

}  // namespace gangway::store
