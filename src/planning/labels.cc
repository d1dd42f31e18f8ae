#include "planning/labels.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gangway::planning {
namespace {

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

bool compares(const Requirement& requirement, const std::string& value) {
  if (requirement.values.size() != 1) return false;
  const auto left = whole_number(value);
  const auto right = whole_number(requirement.values.front());
  if (!left || !right) return false;
  return requirement.op == Requirement::Op::kGt ? *left > *right : *left < *right;
}

}  // namespace

const std::string* find_label(const Labels& labels, std::string_view key) {
  const auto at = std::lower_bound(labels.begin(), labels.end(), key,
                                   [](const auto& label, std::string_view wanted) { return label.first < wanted; });
  return at != labels.end() && at->first == key ? &at->second : nullptr;
}

bool Requirement::matches(const std::string* value) const {
  const auto has = [&] { return std::binary_search(values.begin(), values.end(), *value); };
  switch (op) {
    case Op::kIn:
      return value && has();
    case Op::kNotIn:
      return !value || !has();
    case Op::kExists:
      return value != nullptr;
    case Op::kDoesNotExist:
      return value == nullptr;
    case Op::kGt:
    case Op::kLt:
      return value && compares(*this, *value);
  }
  return false;
}

bool Selector::matches(const Labels& labels) const {
  return std::all_of(requirements.begin(), requirements.end(), [&](const Requirement& requirement) {
    return requirement.matches(find_label(labels, requirement.key));
  });
}

}  // namespace gangway::planning
