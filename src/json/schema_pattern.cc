#include "json/schema_pattern.h"

#include <re2/re2.h>

#include <utility>

namespace gangway::json {

struct Pattern::Engine {
  explicit Engine(const std::string& text, const RE2::Options& options) : expression(text, options) {}
  RE2 expression;
};

Pattern::Pattern(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Pattern::~Pattern() = default;

Result<std::shared_ptr<const Pattern>> Pattern::compile(const std::string& text) {
  RE2::Options options;
  options.set_log_errors(false);
  auto engine = std::make_unique<Engine>(text, options);
  if (!engine->expression.ok()) return bad_request("not a regular expression: " + engine->expression.error());
  return std::shared_ptr<const Pattern>(new Pattern(std::move(engine)));
}

bool Pattern::matches(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), engine_->expression);
}

}  // namespace gangway::json
