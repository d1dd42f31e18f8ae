#include <fmt/format.h>

#include <limits>

#include "api/selector.h"
#include "apiserver/rest/decode.h"
#include "apiserver/rest/ownership.h"
#include "apiserver/rest/patch.h"
#include "apiserver/status.h"
#include "apiserver/subresources/subresources.h"
#include "json/managed_fields.h"
#include "json/scale_fields.h"
#include "json/schema_decode.h"
#include "json/structured_merge.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kScaleType = "io.k8s.api.autoscaling.v1.Scale";

const json::Value* walk(const json::Value& root, const std::vector<std::string>& path) {
  const auto* at = &root;
  for (const auto& step : path) {
    const auto* object = at->if_object();
    at = object ? object->if_contains(step) : nullptr;
    if (!at) return nullptr;
  }
  return path.empty() ? nullptr : at;
}

std::int64_t number_at(const json::Value& object, const std::vector<std::string>& path) {
  const auto* value = walk(object, path);
  return value && value->is_int64() ? value->get_int64() : 0;
}

json::Value& make_way(json::Value& object, const std::vector<std::string>& path) {
  auto* at = &object;
  for (const auto& step : path) {
    if (!at->is_object()) *at = json::Object();
    at = &at->get_object()[step];
  }
  return *at;
}

std::string selector_of(const json::Value& object, const ScalePaths& paths) {
  if (const auto* text = walk(object, paths.selector_text); text && text->is_string())
    return std::string(text->get_string());
  const auto* selector = walk(object, paths.selector_object);
  if (!selector) return "";
  auto parsed = api::read_label_selector(*selector);
  return parsed ? parsed->to_string() : "";
}

json::Value scale_of(const json::Value& object, const ScalePaths& paths) {
  json::Object metadata;
  for (auto field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const auto* value = json::find(object, {"metadata", field})) metadata[field] = *value;
  }
  json::Object spec;
  if (auto replicas = number_at(object, paths.spec_replicas); replicas != 0) spec["replicas"] = replicas;
  json::Object status{{"replicas", number_at(object, paths.status_replicas)}};
  if (auto selector = selector_of(object, paths); !selector.empty()) status["selector"] = selector;
  return json::Object{{"kind", "Scale"},
                      {"apiVersion", "autoscaling/v1"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)},
                      {"status", std::move(status)}};
}

Result<std::int64_t> wanted_replicas(const Call& call, const json::Value& scale) {
  const auto* replicas = json::find(scale, {"spec", "replicas"});
  if (!replicas || replicas->is_null()) return 0;
  if (!replicas->is_int64() || replicas->get_int64() > std::numeric_limits<std::int32_t>::max()) {
    return bad_request("Scale in version \"v1\" cannot be handled as a Scale: spec.replicas: must be a 32-bit integer");
  }
  // What a custom resource's number may be is judged with the rest of it.
  if (replicas->get_int64() < 0 && !call.kind->custom) {
    return invalid("autoscaling", "Scale", call.info.name,
                   {Cause{"FieldValueInvalid",
                          fmt::format("Invalid value: {}: must be greater than or equal to 0", replicas->get_int64()),
                          "spec.replicas"}});
  }
  return replicas->get_int64();
}

Result<void> check_preconditions(const Call& call, const json::Value& scale, const json::Value& object) {
  auto uid = json::string_at(scale, {"metadata", "uid"});
  auto own = json::string_at(object, {"metadata", "uid"});
  if (!uid.empty() && uid != own) {
    auto error = conflict(*call.kind, call.info.name, "");
    error.subject.kind += "/scale";
    error.message = fmt::format(
        "Operation cannot be fulfilled on {}.{} \"{}\": Precondition failed: UID in precondition: {}, UID in object "
        "meta: {}",
        error.subject.kind, call.kind->group, call.info.name, uid, own);
    return error;
  }
  auto revision = json::string_at(scale, {"metadata", "resourceVersion"});
  if (revision.empty() || revision == json::string_at(object, {"metadata", "resourceVersion"})) return {};
  return conflict(*call.kind, call.info.name,
                  "the object has been modified; please apply your changes to the latest version and try again");
}

void answer_with_scale(const CallPtr& call, const Done& done, Result<Answer> answer) {
  if (!answer) return done(std::move(answer));
  auto object = open_version(*call, std::get<ObjectAnswer>(answer->content).object);
  if (!object) return done(object.error());
  done(json_answer(scale_of(*object, *call->version->scale)));
}

json::FieldPath path_of(const std::vector<std::string>& steps) {
  json::FieldPath path;
  for (const auto& step : steps) path.push_back(json::PathElement::field(step));
  return path;
}

void set_managed_fields(json::Value& object, json::Array entries) {
  auto& metadata = json::object_at(object, {"metadata"});
  if (entries.empty()) {
    metadata.erase("managedFields");
  } else {
    metadata["managedFields"] = std::move(entries);
  }
}

const json::Value* managed_fields_of(const json::Value& object) {
  return json::find(object, {"metadata", "managedFields"});
}

// One write to .../scale: makes the new Scale of the old one, with its managed fields.
using ScaleEdit = std::function<Result<json::Value>(const json::Value& scale)>;

Result<ScaleEdit> patch_of(const CallPtr& call, const WriteOptions& options, const std::shared_ptr<BodyType>& type) {
  GW_TRY(auto patch, read_patch(*call, options));
  return [call, options, type, patch = std::move(patch)](const json::Value& scale) -> Result<json::Value> {
    auto write = field_write_of(*call, options, *type);
    if (patch.type == PatchType::kApply) {
      GW_TRY(auto applied, json::apply_configuration(scale, patch.body, write, options.force));
      return std::move(applied.object);
    }
    GW_TRY(auto patched, patch_document(patch, scale, *type->schema));
    json::track_update(scale, patched, write);
    return patched;
  };
}

Result<ScaleEdit> replacement_of(const CallPtr& call, const WriteOptions& options,
                                 const std::shared_ptr<BodyType>& type) {
  GW_TRY(auto body, read_body(*call, kScaleType));
  if (auto kind = json::string_at(body.value, {"kind"});
      !body.value.is_object() || (!kind.empty() && kind != "Scale")) {
    return bad_request(fmt::format("the body must be a Scale (got kind \"{}\")", kind));
  }
  if (auto problem = json::check_types(body.value, *type->schema)) {
    return bad_request(fmt::format("Scale in version \"v1\" cannot be handled as a Scale: {}", *problem));
  }
  return [call, options, type, given = std::move(body.value)](const json::Value& scale) -> Result<json::Value> {
    auto replacement = given;
    json::track_update(scale, replacement, field_write_of(*call, options, *type));
    return replacement;
  };
}

// `old` with what the edit makes of its Scale.
Result<Edited> edit_through_scale(const Call& call, const ScaleEdit& edit, const json::Value& old) {
  const auto& paths = *call.version->scale;
  auto replicas_path = path_of(paths.spec_replicas);
  auto before = scale_of(old, paths);
  GW_TRY(auto entries, json::scale_managed_fields(managed_fields_of(old), replicas_path));
  set_managed_fields(before, std::move(entries));
  GW_TRY(auto scale, edit(before));
  GW_CHECKED(check_preconditions(call, scale, old));
  GW_TRY(auto replicas, wanted_replicas(call, scale));
  auto object = old;
  make_way(object, paths.spec_replicas) = replicas;
  GW_TRY(entries, json::object_managed_fields(managed_fields_of(old), managed_fields_of(scale), replicas_path,
                                              group_version(call.kind->group, call.version->name)));
  set_managed_fields(object, std::move(entries));
  return Edited{std::move(object), true};
}

}  // namespace

void serve_scale(Resources& resources, const CallPtr& call, const Done& done) {
  auto finish = [call, done](Result<Answer> answer) { answer_with_scale(call, done, std::move(answer)); };
  if (call->info.verb == "get") return resources.get(call, finish);
  auto options = read_write_options(*call);
  if (!options) return done(options.error());
  const auto* schema = call->registry->shared_schemas().definition(kScaleType);
  auto type = std::make_shared<BodyType>(BodyType{schema, "autoscaling/v1", json::empty_object(*schema)});
  auto edit = call->info.verb == "patch" ? patch_of(call, *options, type) : replacement_of(call, *options, type);
  if (!edit) return done(edit.error());
  resources.edit(
      call, *options,
      [call, edit = std::move(*edit)](const json::Value& old) { return edit_through_scale(*call, edit, old); }, finish);
}

}  // namespace gangway::apiserver
