#include "apiserver/rest/custom_resource.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "apiserver/status.h"
#include "base/quote.h"
#include "json/schema_validate.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kStatus = "status";

std::string_view go_type(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::null:
      return "<nil>";
    case json::Kind::bool_:
      return "bool";
    case json::Kind::string:
      return "string";
    case json::Kind::array:
      return "[]interface {}";
    case json::Kind::object:
      return "map[string]interface {}";
    case json::Kind::double_:
      return "float64";
    default:
      return "int64";
  }
}

// Plainly, as Go prints a value whose type it says beside it: "[1 x]", "map[a:1]".
std::string plain_text(const json::Value& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return std::string(value.get_string());
  std::vector<std::string> parts;
  if (value.is_array()) {
    for (const auto& item : value.get_array()) parts.push_back(plain_text(item));
    return fmt::format("[{}]", fmt::join(parts, " "));
  }
  if (!value.is_object()) return json::serialize(value);
  for (const auto& [key, item] : value.get_object()) {
    parts.push_back(fmt::format("{}:{}", std::string_view(key), plain_text(item)));
  }
  std::sort(parts.begin(), parts.end());
  return fmt::format("map[{}]", fmt::join(parts, " "));
}

std::string not_accessible(std::string_view path, const json::Value& value, std::string_view expected) {
  return fmt::format("{} accessor error: {} is of the type {}, expected {}", path, plain_text(value), go_type(value),
                     expected);
}

// The value that a path of field names leads to. None: it leads nowhere. An error: something on the way has no fields.
Result<const json::Value*> follow(const json::Value& object, const std::vector<std::string>& path) {
  const auto* at = &object;
  std::string walked;
  for (const auto& step : path) {
    walked += "." + step;
    if (at->is_null()) return nullptr;
    if (!at->is_object()) return bad_request(not_accessible(walked, *at, "map[string]interface{}"));
    at = at->get_object().if_contains(step);
    if (!at) return nullptr;
  }
  return at;
}

std::string path_text(const std::vector<std::string>& path) {
  return fmt::format(".{}", fmt::join(path, "."));
}

void refuse(std::vector<Cause>& causes, const std::string& path, std::string_view shown, std::string_view why) {
  causes.push_back(Cause{"FieldValueInvalid", fmt::format("Invalid value: {}: {}", shown, why), path});
}

void check_count(const json::Value& object, const std::vector<std::string>& path, std::vector<Cause>& causes) {
  auto text = path_text(path);
  auto found = follow(object, path);
  if (!found) return refuse(causes, text, "0", found.error().message);
  if (!*found) return;
  const auto& value = **found;
  if (!value.is_int64()) return refuse(causes, text, "0", not_accessible(text, value, "int64"));
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  auto shown = std::to_string(value.get_int64());
  if (value.get_int64() < 0) refuse(causes, text, shown, "should be a non-negative integer");
  if (value.get_int64() > kMost) {
    refuse(causes, text, shown, fmt::format("should be less than or equal to {}", kMost));
  }
}

void check_selector(const json::Value& object, const std::vector<std::string>& path, std::vector<Cause>& causes) {
  if (path.empty()) return;
  auto text = path_text(path);
  auto found = follow(object, path);
  if (!found) return refuse(causes, text, "\"\"", found.error().message);
  if (*found && !(*found)->is_string()) refuse(causes, text, "\"\"", not_accessible(text, **found, "string"));
}

// The status by its own part of the schema: messages name a place within it, paths the whole way to it.
std::vector<Cause> check_status(const json::Schema& schema, const json::Value& object, const json::Value* old) {
  const auto* status = json::find(object, {kStatus});
  const auto* rules = schema.field(kStatus);
  if (!status || !rules) return {};
  auto causes = json::validate(*status, *rules, json::Dialect::kCustom, old ? json::find(*old, {kStatus}) : nullptr);
  for (auto& cause : causes) {
    cause.field = cause.field == "<nil>" ? std::string(kStatus) : fmt::format("{}.{}", kStatus, cause.field);
  }
  return causes;
}

}  // namespace

Result<void> check_own_type(const KindInfo& kind, const ServedVersion& version, const json::Value& object) {
  auto said_version = json::string_at(object, {"apiVersion"});
  auto said_kind = json::string_at(object, {"kind"});
  auto expected = group_version(kind.group, version.name);
  std::vector<Cause> causes;
  if (said_kind != kind.kind) refuse(causes, "kind", quoted(said_kind), fmt::format("must be {}", kind.kind));
  if (said_version != expected) {
    refuse(causes, "apiVersion", quoted(said_version), fmt::format("must be {}", expected));
  }
  if (causes.empty()) return {};
  auto slash = said_version.find('/');
  auto said_group = slash == std::string_view::npos ? std::string_view() : said_version.substr(0, slash);
  return invalid(said_group, said_kind, json::string_at(object, {"metadata", "name"}), std::move(causes));
}

std::vector<Cause> check_custom_resource(const ServedVersion& version, std::string_view subresource,
                                         const json::Value& object, const json::Value* old) {
  bool only_status = subresource == kStatus;
  auto causes = only_status ? check_status(*version.schema, object, old)
                            : json::validate(object, *version.schema, json::Dialect::kCustom, old);
  if (!version.scale) return causes;
  if (!only_status) check_count(object, version.scale->spec_replicas, causes);
  check_count(object, version.scale->status_replicas, causes);
  check_selector(object, version.scale->selector_text, causes);
  return causes;
}

}  // namespace gangway::apiserver
