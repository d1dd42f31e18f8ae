#include "apiserver/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "apiserver/kind_loader.h"
#include "apiserver/strategy.h"

namespace gangway::apiserver {
namespace {

std::string path_key(std::string_view group, std::string_view version, std::string_view name) {
  return fmt::format("{}/{}/{}", group, version, name);
}

struct VersionRank {
  int stability = 0;  // 3 stable, 2 beta, 1 alpha, 0 not of the form vN[(alpha|beta)M]
  int major = 0;
  int minor = 0;
};

bool take_number(std::string_view& text, int& number) {
  std::size_t digits = 0;
  number = 0;
  while (digits < text.size() && digits < 6 && text[digits] >= '0' && text[digits] <= '9')
    number = number * 10 + (text[digits++] - '0');
  text.remove_prefix(digits);
  return digits > 0;
}

VersionRank rank_of(std::string_view text) {
  VersionRank rank;
  if (text.empty() || text.front() != 'v') return {};
  text.remove_prefix(1);
  if (!take_number(text, rank.major)) return {};
  rank.stability = 3;
  if (text.empty()) return rank;
  for (auto [word, stability] : {std::pair{std::string_view("beta"), 2}, std::pair{std::string_view("alpha"), 1}}) {
    if (!text.starts_with(word)) continue;
    text.remove_prefix(word.size());
    rank.stability = stability;
    if (take_number(text, rank.minor) && text.empty()) return rank;
  }
  return {};
}

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> generation{0};
  return ++generation;
}

}  // namespace

bool more_stable(std::string_view a, std::string_view b) {
  auto left = rank_of(a);
  auto right = rank_of(b);
  auto key = [](const VersionRank& rank) { return std::tuple(rank.stability, rank.major, rank.minor); };
  if (left.stability == 0 && right.stability == 0) return a < b;
  return key(left) > key(right);
}

std::string group_version(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

const Subresource* ServedVersion::subresource(std::string_view wanted) const {
  auto at = std::find_if(subresources.begin(), subresources.end(), [&](const auto& s) { return s.name == wanted; });
  return at == subresources.end() ? nullptr : &*at;
}

const ServedVersion* KindInfo::version(std::string_view wanted) const {
  auto at = std::find_if(versions.begin(), versions.end(), [&](const auto& v) { return v.name == wanted; });
  return at == versions.end() ? nullptr : &*at;
}

const ServedVersion& KindInfo::storage_version() const {
  auto at = std::find_if(versions.begin(), versions.end(), [](const auto& v) { return v.storage; });
  return at == versions.end() ? versions.front() : *at;
}

bool KindInfo::has_verb(std::string_view verb) const {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

std::string KindInfo::qualified_resource() const {
  return group.empty() ? plural : plural + "." + group;
}

void Registry::add(std::shared_ptr<const KindInfo> kind) {
  for (const auto& version : kind->versions) {
    if (!version.served) continue;
    by_path_[path_key(kind->group, version.name, kind->plural)] = {kind.get(), &version};
    by_kind_[path_key(kind->group, version.name, kind->kind)] = {kind.get(), &version};
  }
  kinds_.push_back(std::move(kind));
}

std::shared_ptr<const Registry> Registry::of(std::vector<std::shared_ptr<const KindInfo>> kinds,
                                             std::shared_ptr<const json::SchemaSet> schemas) {
  auto registry = std::make_shared<Registry>();
  registry->builtin_schemas_ = std::move(schemas);
  for (auto& kind : kinds) registry->add(std::move(kind));
  registry->builtin_count_ = registry->kinds_.size();
  registry->generation_ = next_generation();
  return registry;
}

Result<std::shared_ptr<const Registry>> Registry::with_definitions(
    const std::vector<const json::Value*>& definitions) const {
  auto registry = std::make_shared<Registry>();
  registry->builtin_schemas_ = builtin_schemas_;
  for (std::size_t i = 0; i < builtin_count_; ++i) registry->add(kinds_[i]);
  registry->builtin_count_ = builtin_count_;
  for (const auto* definition : definitions) {
    GW_TRY(auto kind, kind_of_definition(*definition, *builtin_schemas_));
    // Written before its kind became a built-in one.
    if (is_built_in(kind->group, kind->plural)) continue;
    registry->add(std::move(kind));
  }
  registry->generation_ = next_generation();
  return std::shared_ptr<const Registry>(std::move(registry));
}

std::optional<ResolvedResource> Registry::resolve(std::string_view group, std::string_view version,
                                                  std::string_view plural) const {
  auto at = by_path_.find(path_key(group, version, plural));
  return at == by_path_.end() ? std::nullopt : std::optional(at->second);
}

bool Registry::is_built_in(std::string_view group, std::string_view plural) const {
  return std::any_of(kinds_.begin(), kinds_.begin() + static_cast<std::ptrdiff_t>(builtin_count_),
                     [&](const auto& kind) { return kind->group == group && kind->plural == plural; });
}

bool Registry::is_built_in_group(std::string_view group) const {
  return std::any_of(kinds_.begin(), kinds_.begin() + static_cast<std::ptrdiff_t>(builtin_count_),
                     [&](const auto& kind) { return kind->group == group; });
}

std::optional<ResolvedResource> Registry::resolve_kind(std::string_view group, std::string_view version,
                                                       std::string_view kind) const {
  auto at = by_kind_.find(path_key(group, version, kind));
  return at == by_kind_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace gangway::apiserver
