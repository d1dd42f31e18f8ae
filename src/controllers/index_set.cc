#include "controllers/index_set.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gangway::controllers {
namespace {

std::optional<std::int64_t> parse_index(std::string_view text) {
  std::int64_t index = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (failure != std::errc() || end != text.data() + text.size() || index < 0) return std::nullopt;
  return index;
}

}  // namespace

IndexSet IndexSet::parse(std::string_view text, std::int64_t end) {
  IndexSet set;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const auto dash = part.find('-');
    const auto first = parse_index(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_index(part.substr(dash + 1));
    if (!first || !last || *first > *last || *first >= end) continue;
    set.insert_range({*first, std::min(*last, end - 1)});
  }
  return set;
}

void IndexSet::insert(std::int64_t index) {
  insert_range({index, index});
}

void IndexSet::insert(const IndexSet& others) {
  for (const Range& range : others.ranges_) insert_range(range);
}

void IndexSet::insert_range(Range range) {
  // Those that it touches become one with it.
  auto first = std::lower_bound(ranges_.begin(), ranges_.end(), range.first,
                                [](const Range& each, std::int64_t index) { return each.last + 1 < index; });
  auto after = first;
  while (after != ranges_.end() && after->first <= range.last + 1) {
    range.first = std::min(range.first, after->first);
    range.last = std::max(range.last, after->last);
    ++after;
  }
  ranges_.insert(ranges_.erase(first, after), range);
}

bool IndexSet::contains(std::int64_t index) const {
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), index,
                                   [](const Range& each, std::int64_t wanted) { return each.last < wanted; });
  return at != ranges_.end() && at->first <= index;
}

std::int64_t IndexSet::size() const {
  std::int64_t sum = 0;
  for (const Range& range : ranges_) sum += range.last - range.first + 1;
  return sum;
}

std::int64_t IndexSet::count_in(const IndexSet& others) const {
  std::int64_t sum = 0;
  auto other = others.ranges_.begin();
  for (const Range& range : ranges_) {
    while (other != others.ranges_.end() && other->last < range.first) ++other;
    for (auto at = other; at != others.ranges_.end() && at->first <= range.last; ++at)
      sum += std::min(range.last, at->last) - std::max(range.first, at->first) + 1;
  }
  return sum;
}

std::vector<std::int64_t> IndexSet::missing(std::int64_t count, std::int64_t end) const {
  std::vector<std::int64_t> found;
  std::int64_t candidate = 0;
  const auto take_until = [&](std::int64_t limit) {
    for (; candidate < std::min(limit, end) && static_cast<std::int64_t>(found.size()) < count; ++candidate)
      found.push_back(candidate);
  };
  for (const Range& range : ranges_) {
    take_until(range.first);
    candidate = std::max(candidate, range.last + 1);
  }
  take_until(end);
  return found;
}

std::string IndexSet::to_string() const {
  std::string text;
  for (const Range& range : ranges_) {
    if (!text.empty()) text += ',';
    text += std::to_string(range.first);
    if (range.last == range.first) continue;
    text += range.last == range.first + 1 ? ',' : '-';
    text += std::to_string(range.last);
  }
  return text;
}

}  // namespace gangway::controllers
