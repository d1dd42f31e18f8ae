// The little of URLs that servers and clients need: percent-encoding, path segments and query parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace gangway::sys {

// "a%2Fb" → "a/b". With `plus_is_space`, as in queries, '+' is a space. Malformed escapes are an error.
Result<std::string> percent_decode(std::string_view text, bool plus_is_space);

// The other way: all but letters, digits and "-._~" is escaped, so that the result fits a path segment or a query.
std::string percent_encode(std::string_view text);

// A parsed query string. Parameters keep their order; the first value of a name counts, as in Kubernetes.
class Query {
 public:
  static Result<Query> parse(std::string_view text);

  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;
  // "", "0", "false" (any case) and absence are false; anything else is true: Kubernetes' own rule.
  bool flag(std::string_view name) const;
  // None when absent or empty; an error names the parameter.
  Result<std::optional<std::int64_t>> integer(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  void set(std::string name, std::string value) { parameters_.emplace_back(std::move(name), std::move(value)); }
  // "a=1&b=x%20y", without the question mark.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

struct Target {
  std::string path;                   // decoded
  std::vector<std::string> segments;  // of the decoded path, empty ones dropped
  Query query;
};

// "/apis/apps/v1/" → {"apis", "apps", "v1"}
std::vector<std::string_view> path_segments(std::string_view path);

Result<Target> parse_target(std::string_view target);

}  // namespace gangway::sys
