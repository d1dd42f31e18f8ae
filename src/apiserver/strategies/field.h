// Field: a place in a document together with its path, for the rules of strategies.
//
// Reading is null-safe: what is missing reads as empty, and so does everything below it. The functions that refuse add
// a cause in the words that clients of Kubernetes know. A Field points into the document and into the list of causes;
// it lives as long as one check, on the thread that makes it.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantity.h"
#include "json/value.h"

namespace gangway::apiserver {

using Causes = std::vector<Cause>;

// The text of a path. A check makes hundreds of them and shows hardly any, so the usual ones stay off the heap.
class PathText {
 public:
  PathText() = default;
  explicit PathText(std::string_view text) { append(text); }
  PathText(const PathText& other) : long_(other.long_), size_(other.size_) { std::memcpy(short_, other.short_, size_); }
  PathText& operator=(const PathText& other);
  ~PathText() = default;

  std::string_view view() const { return long_.empty() ? std::string_view(short_, size_) : std::string_view(long_); }
  bool empty() const { return size_ == 0 && long_.empty(); }
  void append(std::string_view text);

 private:
  std::string long_;      // all of it, once it is longer than the buffer
  std::size_t size_ = 0;  // of what is in the buffer
  char short_[96];
};

class Field {
 public:
  Field(const json::Value* value, std::string_view path, Causes& causes) : Field(value, PathText(path), causes) {}

  std::string path() const { return std::string(path_.view()); }
  const json::Value* value() const { return value_; }
  Causes& causes() const { return *causes_; }

  Field operator[](std::string_view key) const;  // "spec.replicas"
  Field key(std::string_view key) const;         // "data[a.txt]"
  Field at(std::size_t index) const;             // "containers[0]"
  std::vector<Field> items() const;              // the elements of a list
  // The entries of a map, in the order of their keys, with paths as key() makes them.
  std::vector<std::pair<std::string_view, Field>> entries() const;

  bool exists() const { return value_ != nullptr; }
  explicit operator bool() const { return exists(); }
  bool empty() const;  // missing, "", [] or {}
  std::size_t size() const;
  std::string_view text() const;
  std::optional<std::int64_t> integer() const;
  std::int64_t integer_or(std::int64_t fallback) const { return integer().value_or(fallback); }
  bool flag() const;
  std::optional<Quantity> quantity() const;
  bool same_as(const Field& other) const;

  void required(std::string_view detail = {}) const;
  void forbidden(std::string_view detail) const;
  void invalid(std::string_view detail) const;
  void invalid(const json::Value& shown, std::string_view detail) const;
  void invalid_each(const std::vector<std::string>& details) const;
  void duplicate() const;
  void duplicate(const json::Value& shown) const;
  void not_supported(std::initializer_list<std::string_view> supported) const;
  void not_supported(std::span<const std::string_view> supported) const;
  void too_long(std::size_t most_bytes) const;
  void too_many(std::size_t most) const;
  void refuse(std::string_view reason, std::string message) const;

  // Common rules. Each is silent when the field is missing.
  void one_of(std::initializer_list<std::string_view> supported) const;
  void not_negative() const;
  void positive() const;
  // Against the same field before the update.
  void immutable(const Field& before) const;

 private:
  Field(const json::Value* value, const PathText& path, Causes& causes)
      : value_(value && value->is_null() ? nullptr : value), path_(path), causes_(&causes) {}
  // A child in brackets: "containers[0]".
  Field bracketed(const json::Value* child, std::string_view step) const;

  const json::Value* value_;
  PathText path_;
  Causes* causes_;
};

// How a message shows a value: texts quoted, numbers as they are, lists and maps of texts as Go writes them.
std::string shown(const json::Value& value);

}  // namespace gangway::apiserver
