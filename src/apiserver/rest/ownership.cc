#include "apiserver/rest/ownership.h"

#include <algorithm>

#include "api/convert/lossless.h"
#include "apiserver/rest/decode.h"
#include "apiserver/strategy.h"
#include "json/field_set.h"
#include "json/managed_fields.h"
#include "json/schema_decode.h"

namespace gangway::apiserver {
namespace {

const json::FieldSet& kept_by_status(KeptMetadata metadata) {
  static const auto spec = json::FieldSet::of_fields({{"spec"}});
  static const auto and_labels = json::FieldSet::of_fields({{"spec"}, {"metadata", "labels"}});
  static const auto and_owners = json::FieldSet::of_fields({{"spec"}, {"metadata", "ownerReferences"}});
  static const auto and_metadata = json::FieldSet::of_fields({{"spec"}, {"metadata"}});
  switch (metadata) {
    case KeptMetadata::kNone:
      return spec;
    case KeptMetadata::kLabels:
      return and_labels;
    case KeptMetadata::kOwners:
      return and_owners;
    case KeptMetadata::kAll:
      break;
  }
  return and_metadata;
}

// What an endpoint puts back to what it was, so that nobody comes to own it there.
const json::FieldSet* reset_fields(const Call& call) {
  static const auto status = json::FieldSet::of_fields({{"status"}});
  if (!call.version->status_subresource) return nullptr;
  if (call.info.subresource.empty()) return &status;
  if (call.info.subresource == "status") return &kept_by_status(call.kind->strategy->status_keeps);
  return nullptr;
}

std::string_view version_name(std::string_view api_version) {
  return api_version.substr(api_version.find('/') + 1);
}

// The form that a manager wrote in, where that has other fields than the call's.
std::optional<json::VersionForm> form_of(const Call& call, std::string_view api_version) {
  const auto* pair = call.kind->strategy->versions;
  const auto* there = call.kind->version(version_name(api_version));
  if (!pair || !there || there == call.version) return std::nullopt;
  auto in = [pair](const ServedVersion* version) {
    return [pair, version](const json::Value& object) {
      auto converted = object;
      api::convert(converted, *pair, version->name);
      return converted;
    };
  };
  return json::VersionForm{there->whole ? there->whole.get() : there->schema, in(there), in(call.version)};
}

json::FieldWrite field_write(const Call& call, const WriteOptions& options) {
  json::FieldWrite write;
  write.schema = call.version->whole ? call.version->whole.get() : call.version->schema;
  write.empty = &call.version->empty;
  write.manager = options.manager;
  write.subresource = call.info.subresource;
  write.api_version = group_version(call.kind->group, call.version->name);
  write.now = call.now;
  write.reset_fields = reset_fields(call);
  if (call.kind->strategy->versions)
    write.form_of = [&call](std::string_view api_version) { return form_of(call, api_version); };
  return write;
}

// Managers are followed in the versions they wrote in. An object with a field that one of these does not describe
// cannot be, and Kubernetes then lets go of all its managers.
bool can_be_followed(const Call& call, const json::Value& old, const json::Value& object) {
  if (!call.kind->custom || call.kind->versions.size() < 2 || call.kind->strategy->versions) return true;
  const auto* managed = json::find(old, {"metadata", "managedFields"});
  if (!managed || !managed->is_array()) return true;
  return std::none_of(managed->get_array().begin(), managed->get_array().end(), [&](const json::Value& entry) {
    const auto* version = call.kind->version(version_name(json::string_at(entry, {"apiVersion"})));
    return version && version != call.version &&
           !json::unknown_fields(object, *version->schema, json::Dialect::kCustom).empty();
  });
}

}  // namespace

json::FieldWrite field_write_of(const Call& call, const WriteOptions& options, const BodyType& type) {
  json::FieldWrite write;
  write.schema = type.schema;
  write.empty = &type.empty;
  write.manager = options.manager;
  write.subresource = call.info.subresource;
  write.api_version = type.api_version;
  write.now = call.now;
  return write;
}

void own_fields_of_update(const Call& call, const WriteOptions& options, const json::Value* old, json::Value& object) {
  if (old && !can_be_followed(call, *old, object)) {
    json::object_at(object, {"metadata"}).erase("managedFields");
    return;
  }
  json::track_update(old ? *old : call.version->empty, object, field_write(call, options));
}

Result<Edited> apply_configuration(Call& call, const WriteOptions& options, const json::Value* old,
                                   const json::Value& applied) {
  auto write = field_write(call, options);
  GW_TRY(auto outcome, json::apply_configuration(old ? *old : call.version->empty, applied, write, options.force));
  auto quiet = options;
  quiet.field_validation = FieldValidation::kIgnore;  // what is unknown was reported when the configuration was read
  GW_CHECKED(conform(call, quiet, {}, outcome.object));
  return Edited{std::move(outcome.object), true};
}

}  // namespace gangway::apiserver
