// Labels and the selectors over them, as planners see them: small sorted values without documents behind them.
//
// Matching means the same as in Kubernetes: a key that is missing satisfies NotIn and DoesNotExist; Gt and Lt compare
// whole numbers and are false where either side is none.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gangway::planning {

// Sorted by key, each key once.
using Labels = std::vector<std::pair<std::string, std::string>>;

// Null when there is no such label.
const std::string* find_label(const Labels& labels, std::string_view key);

struct Requirement {
  enum class Op : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };
  std::string key;
  Op op = Op::kIn;
  std::vector<std::string> values = {};  // sorted

  bool matches(const std::string* value) const;
  auto operator<=>(const Requirement&) const = default;
};

// All of its requirements must hold; none selects everything.
struct Selector {
  std::vector<Requirement> requirements = {};

  bool matches(const Labels& labels) const;
  auto operator<=>(const Selector&) const = default;
};

}  // namespace gangway::planning
