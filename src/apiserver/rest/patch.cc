#include "apiserver/rest/patch.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/rest/decode.h"
#include "apiserver/rest/metadata_rules.h"
#include "apiserver/rest/ownership.h"
#include "apiserver/status.h"
#include "base/quote.h"
#include "json/json_patch.h"
#include "json/merge_patch.h"
#include "json/schema_decode.h"
#include "json/strategic_merge.h"
#include "json/yaml.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kJsonPatch = "application/json-patch+json";
constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kStrategicPatch = "application/strategic-merge-patch+json";
constexpr std::string_view kApplyYaml = "application/apply-patch+yaml";

Error unsupported(const KindInfo& kind) {
  Error error;
  error.reason = Reason::kUnsupportedMediaType;
  error.message = "415: Unsupported Media Type";
  if (kind.custom) {
    error.message =
        fmt::format("the body of the request was in an unknown format - accepted media types include: {}, {}, {}",
                    kJsonPatch, kMergePatch, kApplyYaml);
  }
  return error;
}

Result<PatchType> patch_type(const Call& call) {
  auto type = std::string_view(call.content_type).substr(0, call.content_type.find(';'));
  if (type == kJsonPatch) return PatchType::kJson;
  if (type == kMergePatch) return PatchType::kMerge;
  // Users' own kinds have no merge keys, so there is nothing strategic about them.
  if (type == kStrategicPatch && !call.kind->custom) return PatchType::kStrategic;
  if (type == kApplyYaml || type == "application/apply-patch+json") return PatchType::kApply;
  return unsupported(*call.kind);
}

Result<void> check_apply_options(const Call& call) {
  if (!call.query.get("fieldManager").empty()) return {};
  return invalid("meta.k8s.io", "PatchOptions", "",
                 {Cause{"FieldValueRequired", "Required value: is required for apply patch", "fieldManager"}});
}

// An applied configuration must say what it is, since it may create the object.
Result<void> check_applied_identity(const Call& call, const json::Value& applied) {
  auto version = json::string_at(applied, {"apiVersion"});
  auto expected = group_version(call.kind->group, call.version->name);
  auto expected_kind = std::string_view(call.kind->kind);
  // Some subresources speak a kind of their own: .../scale takes a Scale.
  if (const auto* spoken = call.version->subresource(call.info.subresource); spoken && !spoken->version.empty()) {
    expected = group_version(spoken->group, spoken->version);
    expected_kind = spoken->kind;
  }
  auto kind = json::string_at(applied, {"kind"});
  if (version != expected || kind != expected_kind) {
    auto slash = version.find('/');
    auto named = slash == std::string_view::npos ? "/" + std::string(version) : std::string(version);
    return bad_request(fmt::format("invalid object type: {}, Kind={}", named, kind));
  }
  if (json::find(applied, {"metadata", "managedFields"})) {
    const auto& managed = *json::find(applied, {"metadata", "managedFields"});
    if (managed.is_array() && !managed.get_array().empty()) return bad_request("metadata.managedFields must be nil");
  }
  return {};
}

// A strategic merge works on values, not on bytes, and words a wrong type accordingly:
// "json: cannot unmarshal number into … of type string" is "cannot convert int64 to string" there.
std::string as_conversion(std::string_view why) {
  constexpr std::string_view kUnmarshal = "json: cannot unmarshal ";
  constexpr std::string_view kOfType = " of type ";
  auto type = why.rfind(kOfType);
  if (!why.starts_with(kUnmarshal) || type == std::string_view::npos) return std::string(why);
  auto from = why.substr(kUnmarshal.size(), why.find(' ', kUnmarshal.size()) - kUnmarshal.size());
  return fmt::format("cannot convert {} to {}", from == "number" ? "int64" : from, why.substr(type + kOfType.size()));
}

// What is wrong with the outcome of a patch is wrong with the patch.
Error about_patch(const json::Value& patched, PatchType type, Error error) {
  if (error.reason != Reason::kBadRequest) return error;
  constexpr std::string_view kHandled = "cannot be handled as a ";
  std::string_view why = error.message;
  if (auto at = why.find(kHandled); at != std::string_view::npos) {
    why.remove_prefix(at);
    why.remove_prefix(std::min(why.find(": ") + 2, why.size()));
  }
  auto told = type == PatchType::kStrategic ? as_conversion(why) : std::string(why);
  return invalid("", "", "",
                 {Cause{"FieldValueInvalid",
                        fmt::format("Invalid value: {}: {}", quoted(json::serialize(patched)), told), "patch"}});
}

Result<json::Value> patched(const Patch& patch, const json::Value& old, const json::Schema* schema) {
  if (patch.type == PatchType::kJson) return json::apply_json_patch(old, patch.body);
  if (patch.type == PatchType::kStrategic) return json::apply_strategic_merge_patch(old, patch.body, schema);
  auto object = old;
  json::apply_merge_patch(object, patch.body);
  return object;
}

// The members of the object that the patch concerns; nothing: any of them.
std::optional<std::vector<std::string>> concerned_members(const Patch& patch) {
  if (patch.type != PatchType::kMerge && patch.type != PatchType::kStrategic) return std::nullopt;
  std::vector<std::string> members;
  for (const auto& [key, value] : patch.body.as_object()) {
    if (key.starts_with('$')) return std::nullopt;  // a directive about the object as a whole
    members.emplace_back(key);
  }
  return members;
}

Result<void> conform_outcome(Call& call, const WriteOptions& options, const Patch& patch, json::Value& object) {
  auto members = call.kind->custom ? std::nullopt : concerned_members(patch);
  if (!members) return conform(call, options, patch.duplicates, object);
  return conform_patched(call, options, patch.duplicates, object, *members);
}

}  // namespace

Result<Patch> read_patch(const Call& call, const WriteOptions& options) {
  Patch patch;
  GW_TRY(patch.type, patch_type(call));
  if (patch.type == PatchType::kApply) {
    GW_CHECKED(check_apply_options(call));
    GW_TRY(auto parsed, parse_body(call.body, BodyFormat::kYaml));
    patch.body = std::move(parsed.value);
    patch.duplicates = std::move(parsed.duplicates);
    if (!patch.body.is_object()) return bad_request("error decoding YAML: an apply patch must be an object");
    GW_CHECKED(check_applied_identity(call, patch.body));
    return patch;
  }
  if (options.force) {
    return invalid("meta.k8s.io", "PatchOptions", "",
                   {Cause{"FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force"}});
  }
  GW_TRY(auto parsed, parse_body(call.body, BodyFormat::kJson));
  patch.body = std::move(parsed.value);
  patch.duplicates = std::move(parsed.duplicates);
  if (patch.type != PatchType::kJson && !patch.body.is_object()) {
    return bad_request(fmt::format("error decoding patch: the patch must be an object"));
  }
  return patch;
}

Result<Edited> apply_patch(Call& call, const WriteOptions& options, const Patch& patch, const json::Value& old) {
  if (patch.type == PatchType::kApply) {
    auto applied = patch.body;
    GW_CHECKED(conform_applied(call, options, patch.duplicates, applied));
    return apply_configuration(call, options, &old, applied);
  }
  GW_TRY(auto object, patched(patch, old, call.version->schema));
  if (!object.is_object()) return bad_request("the patched object is not an object any more");
  auto conforming = conform_outcome(call, options, patch, object);
  if (!conforming) return about_patch(object, patch.type, std::move(conforming.error()));
  return Edited{std::move(object), false};
}

Result<json::Value> patch_document(const Patch& patch, const json::Value& old, const json::Schema& schema) {
  GW_TRY(auto document, patched(patch, old, &schema));
  if (!document.is_object()) return bad_request("the patched object is not an object any more");
  if (auto problem = json::check_types(document, schema))
    return about_patch(document, patch.type, bad_request(*problem));
  return document;
}

Result<Edited> apply_to_nothing(Call& call, const WriteOptions& options, const Patch& patch) {
  auto applied = patch.body;
  if (auto uid = json::string_at(applied, {"metadata", "uid"}); !uid.empty()) {
    return conflict(
        *call.kind, call.info.name,
        fmt::format("uid mismatch: the provided object specified uid {}, and no existing object was found", uid));
  }
  GW_CHECKED(check_revision_text(json::string_at(applied, {"metadata", "resourceVersion"})));
  if (auto name = json::string_at(applied, {"metadata", "name"}); !name.empty() && name != call.info.name) {
    return bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, call.info.name));
  }
  GW_CHECKED(conform_applied(call, options, patch.duplicates, applied));
  auto& metadata = json::object_at(applied, {"metadata"});
  metadata["name"] = call.info.name;
  metadata.erase("resourceVersion");
  return apply_configuration(call, options, nullptr, applied);
}

}  // namespace gangway::apiserver
