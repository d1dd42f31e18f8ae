// JSON pointers (RFC 6901): "/spec/containers/0/image". A value type; what it points at is looked up on every use.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace gangway::json {

class Pointer {
 public:
  Pointer() = default;
  explicit Pointer(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}

  // The empty text is the whole document; any other starts with a slash.
  static Result<Pointer> parse(std::string_view text);

  const std::vector<std::string>& tokens() const { return tokens_; }
  bool is_root() const { return tokens_.empty(); }
  // True when `other` is below this pointer (and not the same).
  bool is_parent_of(const Pointer& other) const;
  std::string to_string() const;

  // What the pointer names, or null.
  const Value* find(const Value& root) const;
  Value* find(Value& root) const;
  // The object or array that holds the last token's value; null when it is missing or scalar. Requires: not the root.
  Value* find_parent(Value& root) const;

 private:
  std::vector<std::string> tokens_;
};

// An array index in pointer form: digits only, no leading zero.
std::optional<std::size_t> parse_index(std::string_view token);

}  // namespace gangway::json
