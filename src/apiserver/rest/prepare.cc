#include "apiserver/rest/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/metadata.h"
#include "apiserver/rest/metadata_rules.h"
#include "apiserver/rest/ownership.h"
#include "apiserver/status.h"
#include "json/arena.h"
#include "json/schema_validate.h"

namespace gangway::apiserver {
namespace {

// Objects may be made and changed only in a namespace that exists, and made only in one that is not on its way out.
Result<void> check_namespace_life(const Call& call, const json::Value& object, const store::Root& state) {
  if (!call.kind->namespaced) return {};
  auto ns = state.get({"namespaces", {"", call.info.ns}});
  if (!ns) {
    Error error;
    error.reason = Reason::kNotFound;
    error.message = fmt::format("namespaces \"{}\" not found", call.info.ns);
    error.subject = Subject{"", "namespaces", call.info.ns, ""};
    return error;
  }
  if (!ns.header->deleting_since) return {};
  Error error;
  error.reason = Reason::kForbidden;
  auto name = std::string(json::string_at(object, {"metadata", "name"}));
  error.message =
      fmt::format("{} \"{}\" is forbidden: unable to create new content in namespace {} because it is being terminated",
                  call.kind->qualified_resource(), name, call.info.ns);
  error.subject = Subject{call.kind->group, call.kind->plural, name, ""};
  error.causes.push_back(Cause{"NamespaceTerminating", fmt::format("namespace {} is being terminated", call.info.ns),
                               "metadata.namespace"});
  return error;
}

// A definition on its way out takes no new objects, so that the last of them can be found.
Result<void> check_definition_life(const Call& call, const store::Root& state) {
  if (!call.kind->custom) return {};
  auto definition =
      state.get({"customresourcedefinitions.apiextensions.k8s.io", {"", call.kind->qualified_resource()}});
  if (!definition || !definition.header->deleting_since) return {};
  auto error = method_not_allowed();
  error.message = "create not allowed while custom resource definition is terminating";
  return error;
}

void set_generation(json::Value& object, const json::Value* old, GenerationRule rule) {
  if (rule == GenerationRule::kNone) return;
  auto& metadata = json::object_at(object, {"metadata"});
  if (!old) {
    metadata["generation"] = 1;
    return;
  }
  if (rule == GenerationRule::kFixed) return;
  const auto* generation = json::find(*old, {"metadata", "generation"});
  std::int64_t number = generation && generation->is_int64() ? generation->get_int64() : 0;
  bool changed = false;
  auto differs = [&](std::string_view field) {
    const auto* a = object.as_object().if_contains(field);
    const auto* b = old->as_object().if_contains(field);
    return (a == nullptr) != (b == nullptr) || (a && !json::equal(*a, *b));
  };
  if (rule == GenerationRule::kSpec || rule == GenerationRule::kSpecOrAnnotations) {
    changed = differs("spec");
    if (rule == GenerationRule::kSpecOrAnnotations) {
      const auto* now = json::find(object, {"metadata", "annotations"});
      const auto* before = json::find(*old, {"metadata", "annotations"});
      changed |= (now == nullptr) != (before == nullptr) || (now && !json::equal(*now, *before));
    }
  } else {
    auto counts = [](std::string_view key) {
      return key != "metadata" && key != "status" && key != "apiVersion" && key != "kind";
    };
    for (const auto& [key, value] : object.as_object()) changed |= counts(key) && differs(key);
    for (const auto& [key, value] : old->as_object()) changed |= counts(key) && differs(key);
  }
  metadata["generation"] = changed ? number + 1 : number;
}

Result<void> validate(Call& call, Review& review) {
  auto causes = check_metadata(call, review.object);
  if (review.old) {
    auto more = check_metadata_update(review.object, *review.old);
    causes.insert(causes.end(), more.begin(), more.end());
  }
  auto by_schema = json::validate(review.object, *call.version->schema,
                                  call.kind->custom ? json::Dialect::kCustom : json::Dialect::kBuiltin, review.old);
  causes.insert(causes.end(), by_schema.begin(), by_schema.end());
  if (call.kind->strategy->validate) call.kind->strategy->validate(review);
  causes.insert(causes.end(), review.causes.begin(), review.causes.end());
  if (causes.empty()) {
    call.warnings.insert(call.warnings.end(), review.warnings.begin(), review.warnings.end());
    return {};
  }
  return invalid(call.kind->group, call.kind->kind, json::string_at(review.object, {"metadata", "name"}),
                 std::move(causes));
}

// What a dry run answers: the object as it would be stored, without having been.
Prepared preview_of(const Call& call, json::Value object, bool created) {
  object.as_object().erase("apiVersion");
  object.as_object().erase("kind");
  if (call.kind->strategy->to_storage) call.kind->strategy->to_storage(object);
  auto header = std::make_shared<const api::Header>(api::read_header(object, call.kind->header_fields));
  Prepared prepared;
  prepared.preview = api::Version{std::move(header), std::make_shared<const std::string>(json::serialize(object))};
  prepared.created = created;
  return prepared;
}

Result<void> check_preconditions(const Call& call, const json::Value& object, const json::Value& old) {
  auto uid = json::string_at(object, {"metadata", "uid"});
  auto old_uid = json::string_at(old, {"metadata", "uid"});
  if (!uid.empty() && uid != old_uid) {
    return conflict(*call.kind, call.info.name,
                    fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, old_uid));
  }
  auto revision = json::string_at(object, {"metadata", "resourceVersion"});
  if (revision.empty() || revision == "0") {
    if (call.kind->strategy->unconditional_update) return {};
    return invalid(call.kind->group, call.kind->plural, call.info.name,
                   {Cause{"FieldValueInvalid", "Invalid value: 0x0: must be specified for an update",
                          "metadata.resourceVersion"}});
  }
  if (revision != json::string_at(old, {"metadata", "resourceVersion"})) {
    return conflict(*call.kind, call.info.name,
                    "the object has been modified; please apply your changes to the latest version and try again");
  }
  return {};
}

// The main endpoint cannot change a status, /status cannot change anything else.
void separate_status(const Call& call, json::Value& object, const json::Value& old) {
  if (!call.version->status_subresource) return;
  auto& fields = object.as_object();
  const auto* old_status = old.as_object().if_contains("status");
  if (call.info.subresource.empty()) {
    if (old_status) {
      fields["status"] = *old_status;
    } else {
      fields.erase("status");
    }
    return;
  }
  if (call.info.subresource != "status") return;
  auto status = fields.contains("status") ? std::optional(std::move(fields["status"])) : std::nullopt;
  auto metadata = std::move(fields["metadata"]);
  auto managed =
      json::find(metadata, {"managedFields"}) ? std::optional(*json::find(metadata, {"managedFields"})) : std::nullopt;
  fields = old.as_object();
  if (status) {
    fields["status"] = std::move(*status);
  } else {
    fields.erase("status");
  }
  if (!call.kind->strategy->status_keeps_metadata) {
    fields["metadata"] = std::move(metadata);
  } else if (managed) {
    fields["metadata"].as_object()["managedFields"] = std::move(*managed);
  }
}

// Whether an object that is being deleted has now lost its last reason to stay.
bool may_go(const json::Value& object) {
  if (!json::find(object, {"metadata", "deletionTimestamp"}) || has_finalizers(object)) return false;
  const auto* grace = json::find(object, {"metadata", "deletionGracePeriodSeconds"});
  if (grace && grace->is_int64() && grace->get_int64() > 0) return false;
  const auto* own = json::find(object, {"spec", "finalizers"});  // namespaces have their own list
  return !own || !own->is_array() || own->get_array().empty();
}

}  // namespace

Facts facts_for(const Call& call, const store::Root& state, const RbacPolicy& policy) {
  auto may = [&call, &policy](std::string_view verb, std::string_view group, std::string_view resource,
                              std::string_view name) {
    Attributes attributes;
    attributes.user = call.user;
    attributes.verb = verb;
    attributes.is_resource = true;
    attributes.group = group;
    attributes.resource = resource;
    attributes.name = name;
    attributes.ns = call.info.ns;
    return policy.authorize(attributes).allowed;
  };
  return Facts{state, *call.registry, call.user, call.now, may, &policy};
}

Result<json::Value> open_version(const Call& call, const api::Version& version, boost::json::storage_ptr storage) {
  GW_TRY(auto object, json::parse(*version.json, {}, nullptr, std::move(storage)));
  if (call.kind->strategy->from_storage) call.kind->strategy->from_storage(object);
  object.as_object()["apiVersion"] = group_version(call.kind->group, call.version->name);
  object.as_object()["kind"] = call.kind->kind;
  return object;
}

api::Draft close_object(const Call& call, json::Value object) {
  object.as_object().erase("apiVersion");
  object.as_object().erase("kind");
  if (call.kind->strategy->to_storage) call.kind->strategy->to_storage(object);
  return draft_of(*call.kind, object);
}

api::Draft draft_of(const KindInfo& kind, const json::Value& object) {
  return api::make_draft(object, kind.header_fields);
}

void add_claims(const KindInfo& kind, const json::Value* old, const json::Value* object,
                std::vector<store::Write>& writes) {
  if (!kind.strategy->claims) return;
  auto before = old ? kind.strategy->claims(*old) : std::vector<std::string>();
  auto after = object ? kind.strategy->claims(*object) : std::vector<std::string>();
  auto holds = [](const std::vector<std::string>& claims, const std::string& claim) {
    return std::find(claims.begin(), claims.end(), claim) != claims.end();
  };
  auto write = [&](const std::string& claim, store::Write::Effect effect, std::optional<api::Revision> expected) {
    auto draft = api::make_draft(json::Object{{"metadata", json::Object{{"name", claim}}}}, {});
    writes.push_back({{std::string(kClaims), {"", claim}}, effect, expected, std::move(draft)});
  };
  for (const auto& claim : before) {
    if (!holds(after, claim)) write(claim, store::Write::Effect::kDelete, std::nullopt);
  }
  for (const auto& claim : after) {
    if (!holds(before, claim)) write(claim, store::Write::Effect::kPut, api::Revision(0));
  }
}

Result<Prepared> prepare_create(Call& call, const WriteOptions& options, json::Value object, bool managed_fields_done,
                                const store::Root& state, const PrepareEnv& env) {
  GW_CHECKED(match_location(call, object, false));
  if (!json::string_at(object, {"metadata", "resourceVersion"}).empty())
    return unforeseen("resourceVersion should not be set on objects to be created");
  begin_life(object, call.now, env.entropy);
  if (!managed_fields_done) own_fields_of_update(call, options, nullptr, object);
  auto policy = env.policy();
  auto facts = facts_for(call, state, *policy);
  Review review{Operation::kCreate, *call.kind, call.info.subresource, nullptr, object, facts, {}, {}};
  const auto& strategy = *call.kind->strategy;
  GW_CHECKED(check_namespace_life(call, object, state));
  GW_CHECKED(check_definition_life(call, state));
  if (strategy.admit) GW_CHECKED(strategy.admit(review));
  if (call.kind->custom && call.version->status_subresource) object.as_object().erase("status");
  if (strategy.prepare) strategy.prepare(review);
  set_generation(object, nullptr, strategy.generation);
  GW_CHECKED(validate(call, review));
  auto name = std::string(json::string_at(object, {"metadata", "name"}));
  if (options.dry_run) {
    if (state.get({call.kind->storage_name, {call.kind->namespaced ? call.info.ns : std::string(), name}}))
      return already_exists(*call.kind, name);
    return preview_of(call, std::move(object), true);
  }
  Prepared prepared;
  prepared.created = true;
  std::vector<store::Write> claims;
  add_claims(*call.kind, nullptr, &object, claims);
  auto draft = close_object(call, std::move(object));
  api::ObjectName location{call.kind->namespaced ? call.info.ns : std::string(), std::move(name)};
  prepared.writes.push_back(
      {{call.kind->storage_name, std::move(location)}, store::Write::Effect::kPut, api::Revision(0), std::move(draft)});
  std::move(claims.begin(), claims.end(), std::back_inserter(prepared.writes));
  return prepared;
}

Result<Prepared> prepare_update(Call& call, const WriteOptions& options, const Edit& edit, const store::Root& state,
                                const PrepareEnv& env) {
  auto current = state.get(call.object_key());
  if (!current) return not_found(*call.kind, call.info.name);
  json::Arena arena;
  GW_TRY(auto old, open_version(call, current, arena.storage()));
  GW_TRY(auto edited, edit(old));
  auto& object = edited.object;
  GW_CHECKED(match_location(call, object, true));
  GW_CHECKED(check_preconditions(call, object, old));
  keep_identity(object, old);
  if (!edited.managed_fields_done) own_fields_of_update(call, options, &old, object);
  auto policy = env.policy();
  auto facts = facts_for(call, state, *policy);
  Review review{Operation::kUpdate, *call.kind, call.info.subresource, &old, object, facts, {}, {}};
  const auto& strategy = *call.kind->strategy;
  if (strategy.admit) GW_CHECKED(strategy.admit(review));
  separate_status(call, object, old);
  if (strategy.prepare) strategy.prepare(review);
  // A binding is a decision about the pod, not a change of what was asked for.
  if (call.info.subresource != "binding") set_generation(object, &old, strategy.generation);
  GW_CHECKED(validate(call, review));
  if (options.dry_run) {
    object.as_object()["metadata"].as_object()["resourceVersion"] =
        json::string_at(old, {"metadata", "resourceVersion"});
    return preview_of(call, std::move(object), false);
  }
  Prepared prepared;
  json::object_at(object, {"metadata"})["resourceVersion"] = json::string_at(old, {"metadata", "resourceVersion"});
  if (json::equal(object, old)) {
    prepared.unchanged = current;
    return prepared;
  }
  auto effect = may_go(object) ? store::Write::Effect::kDelete : store::Write::Effect::kPut;
  std::vector<store::Write> claims;
  add_claims(*call.kind, &old, effect == store::Write::Effect::kPut ? &object : nullptr, claims);
  auto draft = close_object(call, std::move(object));
  prepared.writes.push_back({call.object_key(), effect, current.header->revision, std::move(draft)});
  std::move(claims.begin(), claims.end(), std::back_inserter(prepared.writes));
  return prepared;
}

}  // namespace gangway::apiserver
