// JSONPath as CustomResourceDefinitions use it for printer columns and selectable fields:
//   .spec.replicas   ['a.b']   .a\.b   [0]   [-1]   [0:2]   [*]   .*   ..name   [?(@.type=="Ready")].status
// Not here: unions of several steps, scripts, and the template syntax of kubectl's -o jsonpath, which kubectl
// evaluates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace gangway::json {

class JsonPath {
 public:
  // Parsed once, used for every object. A leading "$" and enclosing braces are accepted.
  static Result<JsonPath> parse(std::string_view text);

  // What the path selects, in document order; nothing where a step is missing. The pointers live as long as `root`.
  std::vector<const Value*> find(const Value& root) const;

 private:
  friend class JsonPathParser;

  struct Slice {
    std::optional<std::int64_t> begin, end;
    std::int64_t step = 1;
  };
  enum class Compare : std::uint8_t { kExists, kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
  struct Step {
    enum class Kind : std::uint8_t { kField, kIndex, kSlice, kAll, kDescend, kFilter };
    Kind kind = Kind::kField;
    std::string field;
    std::int64_t index = 0;
    Slice slice;
    std::vector<Step> operand;  // of a filter: the path behind @
    Compare compare = Compare::kExists;
    Value literal;
  };

  static void walk(const std::vector<Step>& steps, std::size_t at, const Value& value,
                   std::vector<const Value*>& found);
  static void descend(const std::vector<Step>& steps, std::size_t at, const Value& value,
                      std::vector<const Value*>& found);
  static void take_slice(const std::vector<Step>& steps, std::size_t at, const Array& array,
                         std::vector<const Value*>& found);
  static bool holds(const Step& filter, const Value& item);

  std::vector<Step> steps_;
};

}  // namespace gangway::json
