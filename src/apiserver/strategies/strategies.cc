#include "apiserver/strategies/strategies.h"

#include "base/names.h"

namespace gangway::apiserver {
namespace {

struct Entry {
  std::string_view group;
  std::string_view kind;
  const Strategy& (*strategy)();
};

constexpr Entry kEntries[] = {
    {"", "Namespace", namespace_strategy},
};

}  // namespace

const Strategy& strategy_for(std::string_view group, std::string_view kind) {
  for (const auto& entry : kEntries) {
    if (entry.group == group && entry.kind == kind) return entry.strategy();
  }
  static const Strategy none;
  return none;
}

const Strategy& custom_resource_strategy() {
  static const Strategy strategy{
      .generation = GenerationRule::kNonStatus, .unconditional_update = false, .status_keeps_metadata = true};
  return strategy;
}

}  // namespace gangway::apiserver
