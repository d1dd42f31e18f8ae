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
Error cannot_handle(const Call& call, std::string_view why) {
  return bad_request(
      fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: {2}", call.kind->kind, call.version->name, why));
}

json::Dialect dialect_of(const Call& call) {
  return call.kind->custom ? json::Dialect::kCustom : json::Dialect::kBuiltin;
}

Result<void> check_identity(const Call& call, json::Value& object) {
  auto expected = group_version(call.kind->group, call.version->name);
  auto version = json::string_at(object, {"apiVersion"});
  auto kind = json::string_at(object, {"kind"});
  if (call.kind->custom) {
    if (kind.empty()) return bad_request("Object 'Kind' is missing in the body of the request");
    if (version.empty()) return bad_request("Object 'apiVersion' is missing in the body of the request");
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

Result<void> report(Call& call, const WriteOptions& options, const std::vector<std::string>& problems) {
  if (problems.empty()) return {};
  if (options.field_validation == FieldValidation::kWarn) {
    call.warnings.insert(call.warnings.end(), problems.begin(), problems.end());
    return {};
  }
  std::string list;
  for (const auto& problem : problems) list += (list.empty() ? "" : ", ") + problem;
  if (call.kind->custom) return bad_request("strict decoding error: " + list);
  return cannot_handle(call, "strict decoding error: " + list);
}

Result<void> report_duplicates(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates) {
  if (options.field_validation == FieldValidation::kIgnore) return {};
  std::vector<std::string> problems;
  for (const auto& path : duplicates) problems.push_back(fmt::format("duplicate field \"{}\"", path));
  return report(call, options, problems);
}

// What strict decoding objects to: a 400, Warning headers or nothing, as the client asked.
Result<void> report_strictness(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                               const json::Value& object) {
  if (options.field_validation == FieldValidation::kIgnore) return {};
  std::vector<std::string> problems;
  for (const auto& path : duplicates) problems.push_back(fmt::format("duplicate field \"{}\"", path));
  for (const auto& path :
       json::unknown_fields(object, *call.version->schema, dialect_of(call), call.version->object_meta)) {
    problems.push_back(fmt::format("unknown field \"{}\"", path));
  }
  return report(call, options, problems);
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
  GW_CHECKED(check_identity(call, parsed->value));
  GW_CHECKED(conform(call, options, parsed->duplicates, parsed->value));
  return std::move(parsed->value);
}

Result<void> conform_applied(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                             json::Value& object) {
  GW_CHECKED(check_identity(call, object));
  // Unknown fields of an applied configuration are refused when it is merged, whatever the client asked for.
  return report_duplicates(call, options, duplicates);
}

Result<void> conform(Call& call, const WriteOptions& options, const std::vector<std::string>& duplicates,
                     json::Value& object) {
  GW_CHECKED(check_identity(call, object));
  const auto& schema = *call.version->schema;
  if (!call.kind->custom) {
    if (auto problem = json::check_types(object, schema)) return cannot_handle(call, *problem);
  } else if (const auto* metadata = object.as_object().if_contains("metadata"); metadata && call.version->object_meta) {
    if (auto problem = json::check_types(*metadata, *call.version->object_meta)) return bad_request(*problem);
  }
  GW_CHECKED(report_strictness(call, options, duplicates, object));
  if (call.kind->custom) {
    json::prune(object, schema, call.version->object_meta);
    if (call.version->object_meta && object.as_object().contains("metadata")) {
      json::normalize(object.as_object()["metadata"], *call.version->object_meta);
    }
    json::apply_defaults(object, schema);
  } else {
    json::normalize(object, schema);
    if (call.kind->strategy->add_defaults) call.kind->strategy->add_defaults(object);
  }
  return {};
}

}  // namespace gangway::apiserver
