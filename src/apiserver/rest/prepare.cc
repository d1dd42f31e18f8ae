#include "apiserver/rest/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/metadata.h"
#include "apiserver/auth/node_restriction.h"
#include "apiserver/rest/custom_resource.h"
#include "apiserver/rest/metadata_rules.h"
#include "apiserver/rest/ownership.h"
#include "apiserver/rest/versions.h"
#include "apiserver/status.h"
#include "json/arena.h"
#include "json/schema_prune.h"
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
  if (call.kind->built_in) return {};
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
  auto differs = [&](std::initializer_list<std::string_view> path) {
    const auto* a = json::find(object, path);
    const auto* b = json::find(*old, path);
    return (a == nullptr) != (b == nullptr) || (a && !json::equal(*a, *b));
  };
  if (rule == GenerationRule::kSpec || rule == GenerationRule::kSpecOrAnnotations) {
    changed = differs({"spec"});
    if (rule == GenerationRule::kSpecOrAnnotations) changed |= differs({"metadata", "annotations"});
  } else {
    auto counts = [](std::string_view key) {
      return key != "metadata" && key != "status" && key != "apiVersion" && key != "kind";
    };
    for (const auto& [key, value] : object.as_object()) changed |= counts(key) && differs({key});
    for (const auto& [key, value] : old->as_object()) changed |= counts(key) && differs({key});
    if (rule == GenerationRule::kContentOrLabels) changed |= differs({"metadata", "labels"});
  }
  metadata["generation"] = changed ? number + 1 : number;
}

// The group that messages about an object name: that of the kind it is stored as ("events" for events.events.k8s.io).
std::string_view stored_group(const KindInfo& kind) {
  std::string_view name = kind.storage_name;
  auto dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

// What a version cannot say reaches the stored form past that version's own schema.
std::vector<Cause> check_stored_form(const Call& call, const Review& review) {
  if (!is_converted(call)) return {};
  auto stored = [&call](json::Value object) {
    to_stored_version(call, object);
    return object;
  };
  const auto before = review.old ? stored(*review.old) : json::Value();
  return check_custom_resource(call.kind->storage_version(), review.subresource, stored(review.object),
                               review.old ? &before : nullptr);
}

Result<void> validate(Call& call, Review& review) {
  if (call.kind->custom) GW_CHECKED(check_own_type(*call.kind, *call.version, review.object));
  auto causes = check_metadata(call, review.object);
  if (review.old) {
    auto more = check_metadata_update(review.object, *review.old);
    causes.insert(causes.end(), more.begin(), more.end());
  }
  auto by_schema = call.kind->custom
                       ? check_custom_resource(*call.version, review.subresource, review.object, review.old)
                       : json::validate(review.object, *call.version->schema, json::Dialect::kBuiltin);
  if (by_schema.empty()) by_schema = check_stored_form(call, review);
  causes.insert(causes.end(), by_schema.begin(), by_schema.end());
  if (call.kind->strategy->validate) call.kind->strategy->validate(review);
  causes.insert(causes.end(), review.causes.begin(), review.causes.end());
  if (causes.empty()) {
    call.warnings.insert(call.warnings.end(), review.warnings.begin(), review.warnings.end());
    return {};
  }
  return invalid(stored_group(*call.kind), call.kind->kind, json::string_at(review.object, {"metadata", "name"}),
                 std::move(causes));
}

// What a dry run answers: the object as it would be stored, without having been.
Prepared preview_of(const Call& call, json::Value object, bool created) {
  object.as_object().erase("apiVersion");
  object.as_object().erase("kind");
  to_stored_version(call, object);
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
  // A patch with another uid wants to change it, a whole object with another one means another object.
  if (call.info.verb == "update" && !uid.empty() && uid != old_uid) {
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
  GW_CHECKED(check_revision_text(revision));
  if (revision != json::string_at(old, {"metadata", "resourceVersion"})) {
    return conflict(*call.kind, call.info.name,
                    "the object has been modified; please apply your changes to the latest version and try again");
  }
  return {};
}

// Makes `now` what it was before, but for what is `left_alone`. Most of it is the same already, and comparing is
// cheaper than copying.
template <class LeftAlone>
void restore(json::Object& now, const json::Object& before, const LeftAlone& left_alone) {
  std::vector<std::string> added;
  for (const auto& [key, value] : now) {
    if (!left_alone(key) && !before.contains(key)) added.emplace_back(key);
  }
  for (const auto& key : added) now.stable_erase(now.find(key));
  for (const auto& [key, value] : before) {
    if (left_alone(key)) continue;
    auto* mine = now.if_contains(key);
    if (!mine) {
      now.emplace(key, value);
    } else if (!json::equal(*mine, value)) {
      *mine = value;
    }
  }
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
  const auto& before = old.as_object();
  restore(fields, before, [](std::string_view key) { return key == "status" || key == "metadata"; });
  auto kept = call.kind->strategy->status_keeps;
  if (kept == KeptMetadata::kNone || !before.contains("metadata")) return;
  restore(json::object_at(object, {"metadata"}), before.at("metadata").as_object(), [kept](std::string_view key) {
    if (kept == KeptMetadata::kAll) return key == "managedFields";
    return key != (kept == KeptMetadata::kLabels ? "labels" : "ownerReferences");
  });
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

Result<void> check_node(const Call& call, const store::Root& state, const json::Value* old, const json::Value* now) {
  if (!node_of(call.user)) return {};
  return check_node_write(attributes_of(call), old, now, StoreNodeFacts(state));
}

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
  to_served_version(call, object);
  object.as_object()["apiVersion"] = group_version(call.kind->group, call.version->name);
  object.as_object()["kind"] = call.kind->kind;
  return object;
}

api::Draft close_object(const Call& call, json::Value object) {
  object.as_object().erase("apiVersion");
  object.as_object().erase("kind");
  to_stored_version(call, object);
  // A field that only this version describes has no place in the one that is stored.
  if (const auto& stored = call.kind->storage_version(); call.kind->custom && &stored != call.version) {
    json::prune(object, *stored.schema, stored.object_meta);
  }
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
  GW_CHECKED(check_node(call, state, nullptr, &object));
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
  if (strategy.conclude) strategy.conclude(review);
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
  GW_CHECKED(check_node(call, state, &old, &object));
  keep_identity(object, old);
  if (!edited.managed_fields_done) own_fields_of_update(call, options, &old, object);
  auto policy = env.policy();
  auto facts = facts_for(call, state, *policy);
  Review review{Operation::kUpdate, *call.kind, call.info.subresource, &old, object, facts, {}, {}};
  const auto& strategy = *call.kind->strategy;
  if (strategy.admit) GW_CHECKED(strategy.admit(review));
  separate_status(call, object, old);
  if (strategy.prepare) strategy.prepare(review);
  // A binding or a report is no change of what was asked for.
  if (call.info.subresource != "binding" && call.info.subresource != "status")
    set_generation(object, &old, strategy.generation);
  GW_CHECKED(validate(call, review));
  if (options.dry_run) {
    object.as_object()["metadata"].as_object()["resourceVersion"] =
        json::string_at(old, {"metadata", "resourceVersion"});
    return preview_of(call, std::move(object), false);
  }
  if (strategy.conclude) strategy.conclude(review);
  Prepared prepared;
  json::object_at(object, {"metadata"})["resourceVersion"] = json::string_at(old, {"metadata", "resourceVersion"});
  if (json::equal(object, old)) {
    prepared.unchanged = current;
    return prepared;
  }
  auto effect = may_go(object) ? store::Write::Effect::kDelete : store::Write::Effect::kPut;
  // Who takes the last finalizer away is shown what became of the version that they changed.
  if (effect == store::Write::Effect::kDelete) prepared.shown = preview_of(call, object, false).preview;
  std::vector<store::Write> claims;
  add_claims(*call.kind, &old, effect == store::Write::Effect::kPut ? &object : nullptr, claims);
  auto draft = close_object(call, std::move(object));
  prepared.writes.push_back({call.object_key(), effect, current.header->revision, std::move(draft)});
  std::move(claims.begin(), claims.end(), std::back_inserter(prepared.writes));
  return prepared;
}

}  // namespace gangway::apiserver
