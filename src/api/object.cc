#include "api/object.h"

#include <algorithm>

namespace gangway::api {
namespace {

std::string_view value_of(const StringPairs& pairs, std::string_view key) {
  auto at = std::lower_bound(pairs.begin(), pairs.end(), key, [](const auto& pair, auto k) { return pair.first < k; });
  return at != pairs.end() && at->first == key ? std::string_view(at->second) : std::string_view();
}

}  // namespace

std::string_view Header::label(std::string_view key) const {
  return value_of(labels, key);
}
std::string_view Header::field(std::string_view path) const {
  return value_of(fields, path);
}

Version stamp(Draft draft, Revision revision) {
  auto digits = std::to_string(revision);
  std::string json;
  json.reserve(draft.json.size() + digits.size());
  json.append(draft.json, 0, draft.revision_at).append(digits).append(draft.json, draft.revision_at);
  draft.header.revision = revision;
  return Version{std::make_shared<const Header>(std::move(draft.header)),
                 std::make_shared<const std::string>(std::move(json))};
}

}  // namespace gangway::api
