// Selectors: which objects a list, a watch or a controller means, by their labels or by their fields.
//
// Reading a selector allocates; matching does not, since it runs once an object in every list and watch. Parse errors
// are 400s in the words of kube-apiserver. Values; usable from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "base/result.h"
#include "json/value.h"

namespace gangway::api {

// Longer texts than this are refused.
inline constexpr std::size_t kMaxSelectorLength = 64 * 1024;

class LabelSelector {
 public:
  enum class Operator : std::uint8_t {
    kEquals,
    kDoubleEquals,
    kNotEquals,
    kIn,
    kNotIn,
    kExists,
    kDoesNotExist,
    kGreaterThan,
    kLessThan,
  };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;  // sorted
    std::int64_t bound = 0;           // of kGreaterThan and kLessThan

    bool matches(const StringPairs& labels) const;
  };

  // Selects everything.
  LabelSelector() = default;
  static LabelSelector nothing();
  // Requires valid requirements, as parse_label_selector and read_label_selector make them.
  explicit LabelSelector(std::vector<Requirement> requirements);

  bool matches(const StringPairs& labels) const;
  bool matches(const Header& header) const { return matches(header.labels); }
  bool selects_everything() const { return !nothing_ && requirements_.empty(); }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  // The query form, ordered by key: "app=web,tier in (a,b),!old". What a Scale reports as its selector.
  std::string to_string() const;

 private:
  std::vector<Requirement> requirements_;  // ordered by key
  bool nothing_ = false;
};

// The query form: "app=web,tier in (a,b),!old,cores>4".
Result<LabelSelector> parse_label_selector(std::string_view text);

// A LabelSelector object (matchLabels, matchExpressions). Null selects nothing, an empty object everything.
Result<LabelSelector> read_label_selector(const json::Value& selector);
// A plain map of labels, as Services have it: an empty one selects nothing.
LabelSelector read_label_map(const json::Value& labels);
// What is wrong with a LabelSelector object at `path` ("spec.selector").
std::vector<Cause> check_label_selector(const json::Value& selector, std::string_view path);

class FieldSelector {
 public:
  struct Requirement {
    std::string path;
    std::string value;
    bool equal = true;
  };

  FieldSelector() = default;
  explicit FieldSelector(std::vector<Requirement> requirements) : requirements_(std::move(requirements)) {}

  bool matches(const Header& header) const;
  bool selects_everything() const { return requirements_.empty(); }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  // The one value `path` must have, if the selector says so: "metadata.name" makes a list a get.
  std::optional<std::string_view> exact(std::string_view path) const;
  std::string to_string() const;

 private:
  std::vector<Requirement> requirements_;
};

// Which fields a kind may be selected by.
struct FieldLabels {
  std::span<const std::string> paths = {};  // besides metadata.name and metadata.namespace
  bool has_namespace = true;                // metadata.namespace may be asked for
  bool is_custom = false;                   // a custom resource; decides on the wording only
  std::string_view kind = {};               // set for the kinds whose message names the kind (Job)
};

// "spec.nodeName=n0,status.phase!=Running"
Result<FieldSelector> parse_field_selector(std::string_view text, const FieldLabels& labels);

}  // namespace gangway::api
