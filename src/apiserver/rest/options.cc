#include "apiserver/rest/options.h"

#include <fmt/format.h>

#include "apiserver/rest/decode.h"
#include "apiserver/status.h"
#include "base/quote.h"

namespace gangway::apiserver {
namespace {

constexpr std::size_t kLongestManager = 128;

Cause not_supported(std::string field, std::string_view value, std::string_view supported) {
  return Cause{"FieldValueNotSupported",
               fmt::format("Unsupported value: \"{}\": supported values: {}", value, supported), std::move(field)};
}

Result<bool> read_dry_run(const std::vector<std::string_view>& values, std::vector<Cause>& causes) {
  for (auto value : values) {
    if (value == "All") continue;
    causes.push_back(Cause{"FieldValueNotSupported",
                           fmt::format("Unsupported value: []string{{{}}}: supported values: \"All\"", quoted(value)),
                           "dryRun"});
  }
  return !values.empty();
}

std::string manager_of(const Call& call) {
  if (auto manager = call.query.get("fieldManager"); !manager.empty()) return std::string(manager);
  auto agent = call.user_agent.substr(0, call.user_agent.find('/'));
  return agent.empty() ? "unknown" : agent.substr(0, kLongestManager);
}

Result<Propagation> read_propagation(std::string_view policy, std::optional<bool> orphan_dependents,
                                     std::vector<Cause>& causes) {
  if (!policy.empty() && orphan_dependents) {
    causes.push_back(
        Cause{"FieldValueInvalid",
              fmt::format("Invalid value: \"{}\": orphanDependents and deletionPropagation cannot be both set", policy),
              "propagationPolicy"});
  }
  if (orphan_dependents) return *orphan_dependents ? Propagation::kOrphan : Propagation::kBackground;
  if (policy.empty()) return Propagation::kDefault;
  if (policy == "Background") return Propagation::kBackground;
  if (policy == "Foreground") return Propagation::kForeground;
  if (policy == "Orphan") return Propagation::kOrphan;
  causes.push_back(not_supported("propagationPolicy", policy, "\"Foreground\", \"Background\", \"Orphan\", \"nil\""));
  return Propagation::kDefault;
}

std::string_view options_kind(std::string_view verb) {
  if (verb == "create") return "CreateOptions";
  if (verb == "patch") return "PatchOptions";
  return "UpdateOptions";
}

}  // namespace

Result<DeleteOptions> delete_options_of(const json::Value& body) {
  DeleteOptions options;
  std::vector<Cause> causes;
  const auto* object = body.if_object();
  if (!object) return unforeseen("the body must be a DeleteOptions object");
  auto kind = json::string_at(body, {"kind"});
  if (!kind.empty() && kind != "DeleteOptions") {
    return unforeseen(fmt::format("decoded object cannot be converted to DeleteOptions: kind is \"{}\"", kind));
  }
  if (const auto* grace = object->if_contains("gracePeriodSeconds"); grace && !grace->is_null()) {
    if (!grace->is_int64()) return unforeseen("gracePeriodSeconds: must be an integer");
    options.grace_seconds = grace->as_int64();
  }
  if (const auto* dry_run = object->if_contains("dryRun"); dry_run && dry_run->is_array()) {
    std::vector<std::string_view> values;
    for (const auto& value : dry_run->get_array())
      values.push_back(value.is_string() ? std::string_view(value.get_string()) : "");
    GW_TRY(options.dry_run, read_dry_run(values, causes));
  }
  options.uid = json::string_at(body, {"preconditions", "uid"});
  options.revision = json::string_at(body, {"preconditions", "resourceVersion"});
  std::optional<bool> orphan;
  if (const auto* value = object->if_contains("orphanDependents"); value && value->is_bool())
    orphan = value->get_bool();
  GW_TRY(options.propagation, read_propagation(json::string_at(body, {"propagationPolicy"}), orphan, causes));
  if (!causes.empty()) return invalid("meta.k8s.io", "DeleteOptions", "", std::move(causes));
  return options;
}

Result<WriteOptions> read_write_options(const Call& call) {
  WriteOptions options;
  std::vector<Cause> causes;
  GW_TRY(options.dry_run, read_dry_run(call.query.all("dryRun"), causes));
  auto validation = call.query.get("fieldValidation");
  if (validation == "Ignore") {
    options.field_validation = FieldValidation::kIgnore;
  } else if (validation == "Strict") {
    options.field_validation = FieldValidation::kStrict;
  } else if (!validation.empty() && validation != "Warn") {
    causes.push_back(not_supported("fieldValidation", validation, "\"\", \"Ignore\", \"Strict\", \"Warn\""));
  }
  options.manager = manager_of(call);
  if (options.manager.size() > kLongestManager) {
    causes.push_back(Cause{"FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", kLongestManager),
                           "fieldManager"});
  }
  for (std::size_t i = 0; i < options.manager.size(); ++i) {
    auto c = static_cast<unsigned char>(options.manager[i]);
    if (c >= 0x20 && c != 0x7f) continue;
    causes.push_back(Cause{
        "FieldValueInvalid",
        fmt::format("Invalid value: {}: invalid character U+{:04X} (at position {})", quoted(options.manager), c, i),
        "fieldManager"});
    break;
  }
  options.force = call.query.flag("force");
  if (!causes.empty()) return invalid("meta.k8s.io", options_kind(call.info.verb), "", std::move(causes));
  return options;
}

Result<DeleteOptions> read_delete_options(const Call& call) {
  if (!call.body.empty()) {
    auto parsed = read_body(call, "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
    if (parsed) return delete_options_of(parsed->value);
    return parsed.error().reason == Reason::kBadRequest ? unforeseen(parsed.error().message) : parsed.error();
  }
  DeleteOptions options;
  std::vector<Cause> causes;
  GW_TRY(options.dry_run, read_dry_run(call.query.all("dryRun"), causes));
  GW_TRY(options.grace_seconds, call.query.integer("gracePeriodSeconds"));
  std::optional<bool> orphan;
  if (call.query.has("orphanDependents")) orphan = call.query.flag("orphanDependents");
  GW_TRY(options.propagation, read_propagation(call.query.get("propagationPolicy"), orphan, causes));
  if (!causes.empty()) return invalid("meta.k8s.io", "DeleteOptions", "", std::move(causes));
  return options;
}

}  // namespace gangway::apiserver
