// A regular expression of a schema, in RE2 syntax (Go's). Matching takes linear time on any input, so that patterns
// and values of users cannot hold the server up. Immutable; usable from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gangway::json {

class Pattern {
 public:
  static Result<std::shared_ptr<const Pattern>> compile(const std::string& text);
  ~Pattern();

  // Whether the pattern occurs anywhere in `text`; anchors are the pattern's own business.
  bool matches(std::string_view text) const;

 private:
  struct Engine;
  explicit Pattern(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace gangway::json
