#include "apiserver/rest/ownership.h"

#include "apiserver/rest/decode.h"
#include "json/field_set.h"
#include "json/managed_fields.h"

namespace gangway::apiserver {
namespace {

// What an endpoint puts back to what it was, so that nobody comes to own it there.
const json::FieldSet* reset_fields(const Call& call) {
  static const auto status = json::FieldSet::of_fields({{"status"}});
  static const auto spec = json::FieldSet::of_fields({{"spec"}});
  static const auto all_but_status = json::FieldSet::of_fields({{"spec"}, {"metadata"}});
  if (!call.version->status_subresource) return nullptr;
  if (call.info.subresource.empty()) return &status;
  if (call.info.subresource == "status") return call.kind->strategy->status_keeps_metadata ? &all_but_status : &spec;
  return nullptr;
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
  return write;
}

}  // namespace

void own_fields_of_update(const Call& call, const WriteOptions& options, const json::Value* old, json::Value& object) {
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
