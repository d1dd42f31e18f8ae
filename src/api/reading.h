// Reading: a place in a document that is made into typed values, with its path.
//
// What is missing reads as nothing. What is of the wrong type is a problem, told with the path of the field; the reader
// goes on, so that all problems of a document are told at once. A Reading lives as long as its document and its list of
// problems. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "base/time.h"
#include "json/value.h"

namespace gangway::api {

class Reading {
 public:
  using Problems = std::vector<Cause>;

  Reading(const json::Value& document, Problems& problems) : Reading(&document, "", problems) {}

  Reading operator[](std::string_view key) const;  // "spec.queueName"
  std::vector<Reading> items() const;              // "spec.podSets[0]"
  // The members of a map: "flavors[cpu]".
  std::vector<std::pair<std::string, Reading>> entries() const;

  explicit operator bool() const { return value_ != nullptr; }
  const json::Value* value() const { return value_; }
  const std::string& path() const { return path_; }

  std::string text() const;
  std::string required_text() const;
  std::int64_t integer(std::int64_t otherwise = 0) const { return optional_integer().value_or(otherwise); }
  std::optional<std::int64_t> optional_integer() const;
  bool flag(bool otherwise = false) const;
  std::optional<Quantity> quantity() const;
  std::optional<WallTime> time() const;
  std::vector<std::string> texts() const;
  std::vector<std::pair<std::string, std::string>> text_map() const;
  std::vector<std::pair<std::string, Quantity>> amounts() const;

  // The value that a word stands for; `otherwise` when there is none.
  template <class T>
  T word(std::span<const std::pair<std::string_view, T>> words, T otherwise) const {
    const auto said = text();
    if (said.empty()) return otherwise;
    for (const auto& [name, meaning] : words)
      if (name == said) return meaning;
    refuse("\"" + said + "\" is not known here");
    return otherwise;
  }

  void refuse(std::string message) const;

 private:
  Reading(const json::Value* value, std::string path, Problems& problems);
  void refuse_type(std::string_view wanted) const;

  const json::Value* value_;  // null: there is nothing
  std::string path_;
  Problems* problems_;
};

// kInvalid with one cause a problem: "Workload team/job: spec.podSets[0].count: must be an integer".
Error problems_of(std::string_view kind, const json::Value& object, std::vector<Cause> problems);

}  // namespace gangway::api
