// Where a walk over a document is. Frames live on the stack of the walk and cost nothing until an error needs the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gangway::json {

struct PathFrame {
  const PathFrame* parent = nullptr;
  std::string_view key;   // empty for an item of a list, and for the root
  std::size_t index = 0;  // of an item
  bool item = false;

  PathFrame child(std::string_view name) const { return PathFrame{this, name, 0, false}; }
  PathFrame child(std::size_t at) const { return PathFrame{this, {}, at, true}; }

  // "spec.containers[0].image"
  std::string text() const {
    std::string out;
    append(out, true);
    return out;
  }
  // "spec.containers.image": as decode errors name it, without indices.
  std::string text_without_items() const {
    std::string out;
    append(out, false);
    return out;
  }

 private:
  void append(std::string& out, bool with_items) const {
    if (parent == nullptr) return;
    parent->append(out, with_items);
    if (item) {
      if (with_items) out.append("[").append(std::to_string(index)).append("]");
      return;
    }
    if (!out.empty()) out += '.';
    out += key;
  }
};

}  // namespace gangway::json
