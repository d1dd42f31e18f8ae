// YAML at the edge: files and request bodies in, values out. Everything inside works on values and knows no YAML.
//
// Scalars mean what kubectl's YAML reader takes them for (YAML 1.1): yes, no, on and off are booleans, 0x1f and 017 are
// numbers, quoted text is text. Keys become strings. Aliases are expanded, within limits.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace gangway::json {

struct YamlOptions {
  std::size_t max_bytes = 3 * 1024 * 1024;
  std::size_t max_depth = 64;
  // Values in all documents together, those that aliases stand for included.
  std::size_t max_values = 1'000'000;
  bool refuse_duplicate_keys = true;
};

struct YamlDocument {
  Value value;
  std::map<std::string, int, std::less<>> lines;  // by path: "nodes[0].name"

  // The line that a field stands on, counted from 1; that of its nearest parent for a field that is missing.
  int line_of(std::string_view path) const;
};

// All documents of a stream; empty ones (only comments between two ---) are left out. Errors say line and column.
Result<std::vector<Value>> parse_yaml(std::string_view text, const YamlOptions& options = {});
// The same, and where each field stands, for messages about files that people write.
Result<std::vector<YamlDocument>> parse_yaml_with_lines(std::string_view text, const YamlOptions& options = {});

// Block style. Text that would read back as something else is quoted.
std::string to_yaml(const Value& value);

}  // namespace gangway::json
