#include <fmt/format.h>

#include <algorithm>

#include "api/selector.h"
#include "base/quote.h"

namespace gangway::api {
namespace {

constexpr std::string_view kName = "metadata.name";
constexpr std::string_view kNamespace = "metadata.namespace";

// Cuts at the commas that no backslash escapes.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  terms.push_back(text.substr(start));
  return terms;
}

// The backslash and the whole UTF-8 character after it.
std::string_view escape_sequence(std::string_view escape) {
  std::size_t length = std::min<std::size_t>(2, escape.size());
  while (length < escape.size() && (static_cast<unsigned char>(escape[length]) & 0xC0) == 0x80) ++length;
  return escape.substr(0, length);
}

Result<std::string> unescaped(std::string_view value) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    char c = value[i];
    if (c == ',' || c == '=') {
      return bad_request(fmt::format("invalid field selector: unescaped character in value: {}", static_cast<int>(c)));
    }
    if (c == '\\') {
      ++i;
      if (i >= value.size() || (value[i] != '\\' && value[i] != ',' && value[i] != '=')) {
        return bad_request(
            fmt::format("invalid field selector: invalid escape sequence: {}", escape_sequence(value.substr(i - 1))));
      }
      c = value[i];
    }
    out += c;
  }
  return out;
}

std::string escaped(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (c == '\\' || c == ',' || c == '=') out += '\\';
    out += c;
  }
  return out;
}

Result<FieldSelector::Requirement> parse_term(std::string_view term, std::string_view whole) {
  auto at = term.find('=');
  bool negated = at != std::string_view::npos && at > 0 && term[at - 1] == '!';
  if (at == std::string_view::npos) {
    return bad_request(fmt::format("invalid selector: '{}'; can't understand '{}'", whole, term));
  }
  auto path = term.substr(0, negated ? at - 1 : at);
  auto value = term.substr(at + 1);
  if (!negated && value.starts_with('=')) value.remove_prefix(1);
  GW_TRY(auto text, unescaped(value));
  return FieldSelector::Requirement{.path = std::string(path), .value = std::move(text), .equal = !negated};
}

Result<void> check_path(std::string_view path, const FieldLabels& labels) {
  if (path == kName || (path == kNamespace && labels.has_namespace)) return {};
  if (std::find(labels.paths.begin(), labels.paths.end(), path) != labels.paths.end()) return {};
  if (!labels.kind.empty()) {
    return bad_request(fmt::format("field label {} not supported for {}", quoted(path), labels.kind));
  }
  if (labels.paths.empty() && !labels.is_custom) {
    return bad_request(
        fmt::format("{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", quoted(path)));
  }
  return bad_request(fmt::format("field label not supported: {}", path));
}

std::string_view value_of(const Header& header, std::string_view path) {
  if (path == kName) return header.name.name;
  if (path == kNamespace) return header.name.ns;
  return header.field(path);
}

}  // namespace

bool FieldSelector::matches(const Header& header) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const auto& requirement) {
    return (value_of(header, requirement.path) == requirement.value) == requirement.equal;
  });
}

std::optional<std::string_view> FieldSelector::exact(std::string_view path) const {
  for (const auto& requirement : requirements_) {
    if (requirement.equal && requirement.path == path) return requirement.value;
  }
  return std::nullopt;
}

std::string FieldSelector::to_string() const {
  std::string text;
  for (const auto& requirement : requirements_) {
    if (!text.empty()) text += ',';
    text += requirement.path + (requirement.equal ? "=" : "!=") + escaped(requirement.value);
  }
  return text;
}

Result<FieldSelector> parse_field_selector(std::string_view text, const FieldLabels& labels) {
  if (text.size() > kMaxSelectorLength) {
    return bad_request(
        fmt::format("field selector is too long: {} bytes, at most {} are allowed", text.size(), kMaxSelectorLength));
  }
  auto terms = split_terms(text);
  // The order decides which of several mistakes is reported.
  std::sort(terms.begin(), terms.end());
  std::vector<FieldSelector::Requirement> requirements;
  for (auto term : terms) {
    if (term.empty()) continue;
    GW_TRY(auto requirement, parse_term(term, text));
    requirements.push_back(std::move(requirement));
  }
  for (const auto& requirement : requirements) GW_CHECKED(check_path(requirement.path, labels));
  return FieldSelector(std::move(requirements));
}

}  // namespace gangway::api
