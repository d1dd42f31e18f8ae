#include "apiserver/rest/decode.h"

#include <fmt/format.h>

#include "apiserver/status.h"
#include "apiserver/strategy.h"
#include "json/protobuf.h"
#include "json/schema_decode.h"
#include "json/schema_default.h"
#include "json/schema_prune.h"

namespace gangway::apiserver {
namespace {

// How the server speaks of the thing it could not read: `Pod in version "v1" cannot be handled as a Pod: …`.
Error cannot_handle(std::string_view kind, std::string_view version, std::string_view why) {
  return bad_request(fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: {2}", kind, version, why));
}

Error cannot_handle(const Call& call, std::string_view why) {
  return cannot_handle(call.kind->kind, call.version->name, why);
}

json::Dialect dialect_of(const Call& call) {
  return call.kind->custom ? json::Dialect::kCustom : json::Dialect::kBuiltin;
}

Result<void> check_identity(const Call& call, json::Value& object) {
  auto expected = group_version(call.kind->group, call.version->name);
  auto version = json::string_at(object, {"apiVersion"});
  auto kind = json::string_at(object, {"kind"});
  if (call.kind->custom) {
    // Whether it is the right one is judged with the rest of the object.
    if (kind.empty()) return bad_request(fmt::format("Object 'Kind' is missing in '{}'", json::serialize(object)));
    return {};
  }
  if (!version.empty() && version != expected) {
    return bad_request(fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                                   version, expected));
  }
  if (!kind.empty() && kind != call.kind->kind) {
    return bad_request(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: the kind in the data does not match", kind,
                    call.version->name, call.kind->kind));
  }
  object.as_object()["apiVersion"] = expected;
  object.as_object()["kind"] = call.kind->kind;
  return {};
}

// What strict decoding objects to: a 400, Warning headers or nothing, as the client asked.
Result<void> report(Call& call, const WriteOptions& options, const json::Value& object,
                    const std::vector<std::string>& problems) {
  if (problems.empty() || options.field_validation == FieldValidation::kIgnore) return {};
  if (options.field_validation == FieldValidation::kWarn) {
    call.warnings.insert(call.warnings.end(), problems.begin(), problems.end());
    return {};
  }
  auto why = fmt::format("strict decoding error: {}", fmt::join(problems, ", "));
  if (!call.kind->custom) return cannot_handle(call, why);
  auto version = json::string_at(object, {"apiVersion"});
  return cannot_handle(json::string_at(object, {"kind"}), version.substr(version.find('/') + 1), why);
}

std::vector<std::string> problems_of(const std::vector<std::string>& duplicates,
                                     const std::vector<std::string>& unknown) {
  std::vector<std::string> problems;
  for (const auto& path : duplicates) problems.push_back(fmt::format("duplicate field \"{}\"", path));
  for (const auto& path : unknown) problems.push_back(fmt::format("unknown field \"{}\"", path));
  return problems;
}

// The schema that a body of a custom kind has by its own word. Of another kind nothing is known, so that every field is
// as good as another; of another version of this kind, what the definition says about that.
const json::Schema& schema_by_own_word(const Call& call, const json::Value& object) {
  static const auto anything = [] {
    json::Schema schema;
    schema.preserve_unknown = true;
    return schema;
  }();
  static const json::Schema nothing;
  auto said = json::string_at(object, {"apiVersion"});
  auto slash = std::min(said.find('/'), said.size());
  if (json::string_at(object, {"kind"}) != call.kind->kind || said.substr(0, slash) != call.kind->group) {
    return anything;
  }
  const auto* version = call.kind->version(said.substr(std::min(slash + 1, said.size())));
  return version ? *version->schema : nothing;
}

Result<void> report_strictness(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                               const json::Value& object) {
  if (options.field_validation == FieldValidation::kIgnore) return {};
  const auto& schema = call.kind->custom ? schema_by_own_word(call, object) : *call.version->schema;
  auto unknown = json::unknown_fields(object, schema, dialect_of(call), call.version->object_meta);
  return report(call, options, object, problems_of(duplicates, unknown));
}

// The start of a body, as much as a message shows.
std::string summary_of(std::string_view body) {
  constexpr std::size_t kShown = 30;
  return body.size() <= kShown ? std::string(body) : fmt::format("{} ...", body.substr(0, kShown));
}

// A body of a custom kind has to say what it is.
Result<void> check_custom_body(Call& call, const WriteOptions& options, const ParsedBody& parsed) {
  if (json::string_at(parsed.value, {"kind"}).empty()) {
    return bad_request(
        fmt::format("the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{}' ({})",
                    call.kind->kind, call.body, summary_of(call.body)));
  }
  auto expected = group_version(call.kind->group, call.version->name);
  auto said = json::string_at(parsed.value, {"apiVersion"});
  if (said == expected) return {};
  GW_CHECKED(report_strictness(call, options, parsed.duplicates, parsed.value));
  return bad_request(
      fmt::format("the API version in the data ({}) does not match the expected API version ({})", said, expected));
}

// What the schema of a built-in kind says of an object, or of some members of one.
Result<void> conform_built_in(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                              json::Value& object) {
  const auto& schema = *call.version->schema;
  if (auto problem = json::check_types(object, schema)) return cannot_handle(call, *problem);
  GW_CHECKED(report_strictness(call, options, duplicates, object));
  json::normalize(object, schema);
  return {};
}

Result<ParsedBody> read_as(const Call& call, const json::Schema* schema, boost::json::storage_ptr storage) {
  GW_TRY(auto format, body_format(call.content_type, schema && json::has_protobuf(*schema)));
  return parse_body(call.body, format, schema, std::move(storage));
}

}  // namespace

Result<ParsedBody> read_body(const Call& call, boost::json::storage_ptr storage) {
  const auto* subresource = call.info.subresource.empty() ? nullptr : call.version->subresource(call.info.subresource);
  return read_as(call, subresource && subresource->schema ? subresource->schema : call.version->schema,
                 std::move(storage));
}

Result<ParsedBody> read_body(const Call& call, std::string_view definition) {
  return read_as(call, call.registry->shared_schemas().definition(definition), {});
}

Result<json::Value> decode_body(Call& call, const WriteOptions& options, boost::json::storage_ptr storage) {
  auto parsed = read_body(call, std::move(storage));
  if (!parsed && parsed.error().reason != Reason::kBadRequest) return parsed.error();
  if (!parsed) return cannot_handle(call, parsed.error().message);
  if (parsed->value.is_null() && !call.kind->custom) parsed->value = json::Object();  // as an empty body of a Go type
  if (!parsed->value.is_object()) return cannot_handle(call, "the body must be an object");
  if (call.kind->custom) GW_CHECKED(check_custom_body(call, options, *parsed));
  GW_CHECKED(conform(call, options, parsed->duplicates, parsed->value));
  return std::move(parsed->value);
}

Result<void> conform_applied(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                             json::Value& object) {
  GW_CHECKED(check_identity(call, object));
  // Unknown fields of an applied configuration are refused when it is merged, whatever the client asked for.
  return report(call, options, object, problems_of(duplicates, {}));
}

Result<void> conform_patched(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                             json::Value& object, const std::vector<std::string>& patched) {
  GW_CHECKED(check_identity(call, object));
  auto& members = object.as_object();
  json::Value part(json::Object(object.storage()), object.storage());
  auto& taken = part.get_object();
  for (const auto& key : patched) {
    if (auto* member = members.if_contains(key)) taken.emplace(key, std::move(*member));
  }
  auto conforming = conform_built_in(call, options, duplicates, part);
  // Back into their places, also when they do not conform: messages show the object.
  for (const auto& key : patched) {
    auto place = members.find(key);
    auto* member = taken.if_contains(key);
    if (member) {
      members[key] = std::move(*member);
    } else if (place != members.end()) {
      members.stable_erase(place);
    }
  }
  if (conforming && call.kind->strategy->add_defaults) call.kind->strategy->add_defaults(object);
  return conforming;
}

Result<void> conform(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                     json::Value& object) {
  GW_CHECKED(check_identity(call, object));
  if (!call.kind->custom) {
    GW_CHECKED(conform_built_in(call, options, duplicates, object));
    if (call.kind->strategy->add_defaults) call.kind->strategy->add_defaults(object);
    return {};
  }
  const auto& schema = *call.version->schema;
  if (const auto* metadata = object.as_object().if_contains("metadata"); metadata && call.version->object_meta) {
    if (auto problem = json::check_types(*metadata, *call.version->object_meta)) return bad_request(*problem);
  }
  GW_CHECKED(report_strictness(call, options, duplicates, object));
  json::prune(object, schema, call.version->object_meta);
  if (call.version->object_meta && object.as_object().contains("metadata")) {
    json::normalize(object.as_object()["metadata"], *call.version->object_meta);
  }
  json::apply_defaults(object, schema);
  return {};
}

}  // namespace gangway::apiserver
