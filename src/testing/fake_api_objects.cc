#include "testing/fake_api_objects.h"

#include <algorithm>
#include <utility>

#include "client/decode.h"
#include "client/resource.h"
#include "json/access.h"
#include "json/json_patch.h"
#include "json/merge_patch.h"

namespace gangway::testing {
namespace {

using client::ApiRequest;
using client::Method;
using client::PatchType;

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

Error refuse(Reason reason, const ApiRequest& request, const std::string& what) {
  Error error;
  error.reason = reason;
  error.message = client::describe(request.resource, request.object) + ": " + what;
  error.subject = {request.resource.group, request.resource.plural, request.object.name, ""};
  return error;
}

bool is_namespace(const std::string& resource) {
  return resource == "namespaces";
}

json::Array& finalizers(json::Value& object) {
  json::Value& list = json::object_at(object, {"metadata"})["finalizers"];
  if (!list.is_array()) list = json::Array();
  return list.get_array();
}

void set_finalizer(json::Value& object, std::string_view name, bool wanted) {
  json::Array& list = finalizers(object);
  auto* at = std::find_if(list.begin(), list.end(),
                          [&](const json::Value& item) { return item.is_string() && item.get_string() == name; });
  if (at != list.end() && !wanted) list.erase(at);
  if (at == list.end() && wanted) list.push_back(json::Value(name));
}

bool is_deleting(const json::Value& object) {
  return !json::string_at(object, {"metadata", "deletionTimestamp"}).empty();
}

bool is_kept(const std::string& resource, const json::Value& object) {
  if (json::int_at(object, {"metadata", "deletionGracePeriodSeconds"}) > 0) return true;
  const json::Value* list = json::find(object, {"metadata", "finalizers"});
  if (list != nullptr && list->is_array() && !list->get_array().empty()) return true;
  const json::Value* keepers = is_namespace(resource) ? json::find(object, {"spec", "finalizers"}) : nullptr;
  return keepers != nullptr && keepers->is_array() && !keepers->get_array().empty();
}

// How long a pod that is on a node may stay, for those that say so.
std::int64_t grace_of(const json::Value& pod, const json::Value& options) {
  const std::string_view phase = json::string_at(pod, {"status", "phase"});
  if (json::string_at(pod, {"spec", "nodeName"}).empty() || phase == "Succeeded" || phase == "Failed") return 0;
  return json::int_at(options, {"gracePeriodSeconds"}, json::int_at(pod, {"spec", "terminationGracePeriodSeconds"}, 0));
}

// Without schemas: conditions are merged by their type, a list that begins with {"$patch": "replace"} and every other
// list is replaced.
void apply_strategic(json::Value& target, const json::Value& patch);

void merge_conditions(json::Value& target, const json::Array& patch) {
  if (!target.is_array()) target = json::Array();
  for (const json::Value& item : patch) {
    json::Array& list = target.get_array();
    auto* at = std::find_if(list.begin(), list.end(), [&](const json::Value& known) {
      return json::string_at(known, {"type"}) == json::string_at(item, {"type"});
    });
    json::Value& known = at != list.end() ? *at : list.emplace_back(json::Object());
    apply_strategic(known, item);
  }
}

void apply_strategic(json::Value& target, const json::Value& patch) {
  if (!patch.is_object()) {
    target = patch;
    if (!patch.is_array() || patch.get_array().empty()) return;
    if (json::string_at(patch.get_array().front(), {"$patch"}) == "replace")
      target.get_array().erase(target.get_array().begin());
    return;
  }
  if (!target.is_object()) target = json::Object();
  for (const auto& member : patch.get_object()) {
    if (member.value().is_null()) {
      target.get_object().erase(member.key());
    } else if (member.key() == "conditions" && member.value().is_array()) {
      merge_conditions(target.get_object()[member.key()], member.value().get_array());
    } else {
      apply_strategic(target.get_object()[member.key()], member.value());
    }
  }
}

// Copies `key` of `from` into `to`, its absence included.
void keep(json::Object& to, const json::Object& from, std::string_view key) {
  if (const json::Value* value = from.if_contains(key)) {
    to[key] = *value;
  } else {
    to.erase(key);
  }
}

bool differs(const json::Value& a, const json::Value& b, std::string_view key) {
  const json::Value* left = json::find(a, {key});
  const json::Value* right = json::find(b, {key});
  if (left == nullptr || right == nullptr) return left != right;
  return *left != *right;
}

std::string time_text(WallTime now) {
  return to_rfc3339(now);
}

}  // namespace

void FakeApiObjects::set_selectable_fields(const std::string& resource, std::vector<std::string> paths) {
  places_[resource].fields = std::move(paths);
}

const FakeApiObjects::Objects& FakeApiObjects::objects(const std::string& resource) const {
  static const Objects kNone;
  auto at = places_.find(resource);
  return at == places_.end() ? kNone : at->second.objects;
}

const std::vector<FakeApiObjects::Event>& FakeApiObjects::log(const std::string& resource) const {
  static const std::vector<Event> kNone;
  auto at = places_.find(resource);
  return at == places_.end() ? kNone : at->second.log;
}

api::Revision FakeApiObjects::oldest(const std::string& resource) const {
  auto at = places_.find(resource);
  return at == places_.end() ? 0 : at->second.oldest;
}

void FakeApiObjects::compact() {
  for (auto& [resource, place] : places_) {
    place.log.clear();
    place.oldest = revision_;
  }
}

Result<api::Version> FakeApiObjects::apply(const ApiRequest& request, WallTime now) {
  switch (request.method) {
    case Method::kGet:
      return current(request);
    case Method::kCreate:
      return create(request, now);
    case Method::kUpdate:
    case Method::kPatch:
      return modify(request, now);
    case Method::kDelete:
      return remove(request, now);
  }
  return internal_error("no such method");
}

Result<api::Version> FakeApiObjects::current(const ApiRequest& request) const {
  const Objects& all = objects(client::resource_name(request.resource));
  auto at = all.find(request.object);
  if (at == all.end()) return refuse(Reason::kNotFound, request, "not found");
  return at->second;
}

// As a real server's, the answer is a Status and says nothing of the pod.
Result<api::Version> FakeApiObjects::bind(const ApiRequest& request) {
  GW_TRY(const json::Value binding, json::parse(request.body));
  GW_TRY(const api::Version known, current(request));
  GW_TRY(json::Value pod, json::parse(*known.json));
  const std::string_view uid = json::string_at(binding, {"metadata", "uid"});
  const std::string_view version = json::string_at(binding, {"metadata", "resourceVersion"});
  if (is_deleting(pod)) return refuse(Reason::kConflict, request, "is being deleted");
  if (!json::string_at(pod, {"spec", "nodeName"}).empty())
    return refuse(Reason::kConflict, request, "is already assigned to a node");
  if (!uid.empty() && uid != known.header->uid) return refuse(Reason::kConflict, request, "the uid does not match");
  if (!version.empty() && version != std::to_string(known.header->revision))
    return refuse(Reason::kConflict, request, "the object has been modified");
  json::object_at(pod, {"spec"})["nodeName"] = json::string_at(binding, {"target", "name"});
  auto bound = commit(client::resource_name(request.resource), std::move(pod), Event::Type::kModified);
  if (!bound) return bound;
  return api::Version{std::make_shared<const api::Header>(), std::make_shared<const std::string>("{}")};
}

Result<api::Version> FakeApiObjects::create(const ApiRequest& request, WallTime now) {
  if (request.subresource == "binding") return bind(request);
  const std::string resource = client::resource_name(request.resource);
  GW_TRY(json::Value object, json::parse(request.body));
  json::Object& metadata = json::object_at(object, {"metadata"});
  std::string name(json::string_at(object, {"metadata", "name"}));
  if (name.empty())
    name = std::string(json::string_at(object, {"metadata", "generateName"})) + std::to_string(last_uid_);
  ApiRequest named = request;
  named.object.name = name;
  if (name.empty()) return refuse(Reason::kInvalid, named, "metadata.name: is required");
  if (objects(resource).contains(named.object)) return refuse(Reason::kAlreadyExists, named, "already exists");
  const Objects& namespaces = objects("namespaces");
  if (auto ns = namespaces.find({"", request.object.ns}); ns != namespaces.end() && ns->second.header->deleting_since)
    return refuse(Reason::kForbidden, named, "the namespace is being terminated");

  metadata["name"] = name;
  if (!request.object.ns.empty()) metadata["namespace"] = request.object.ns;
  metadata["uid"] = "uid-" + std::to_string(++last_uid_);
  metadata["creationTimestamp"] = time_text(now);
  metadata["generation"] = 1;
  metadata.erase("deletionTimestamp");
  if (is_namespace(resource)) {
    json::object_at(object, {"spec"})["finalizers"] = json::Array{"kubernetes"};
    json::object_at(object, {"status"})["phase"] = "Active";
  }
  return commit(resource, std::move(object), Event::Type::kAdded);
}

Result<json::Value> FakeApiObjects::next_state(const ApiRequest& request, const json::Value& before) const {
  GW_TRY(json::Value body, json::parse(request.body));
  if (request.method == Method::kUpdate) return body;
  switch (request.patch_type) {
    case PatchType::kJson:
      return json::apply_json_patch(before, body);
    case PatchType::kMerge:
    case PatchType::kApply:
      break;
    case PatchType::kStrategic:
      break;
  }
  json::Value after = before;
  if (request.patch_type == PatchType::kStrategic) {
    apply_strategic(after, body);
    return after;
  }
  json::apply_merge_patch(after, body);
  return after;
}

Result<api::Version> FakeApiObjects::modify(const ApiRequest& request, WallTime) {
  const std::string resource = client::resource_name(request.resource);
  GW_TRY(const api::Version known, current(request));
  GW_TRY(const json::Value before, json::parse(*known.json));
  GW_TRY(json::Value after, next_state(request, before));
  const std::string_view version = json::string_at(after, {"metadata", "resourceVersion"});
  if (!version.empty() && version != json::string_at(before, {"metadata", "resourceVersion"}))
    return refuse(Reason::kConflict, request, "the object has been modified");
  const std::string_view uid = json::string_at(after, {"metadata", "uid"});
  if (!uid.empty() && uid != known.header->uid) return refuse(Reason::kConflict, request, "the uid does not match");

  if (!request.subresource.empty()) {
    json::Value whole = before;
    const char* part = request.subresource == "finalize" ? "spec" : "status";
    keep(whole.get_object(), after.get_object(), part);
    // Built-in kinds take annotations with the status.
    keep(json::object_at(whole, {"metadata"}), json::object_at(after, {"metadata"}), "annotations");
    after = std::move(whole);
  } else {
    keep(after.get_object(), before.get_object(), "status");
    // Only the finalize subresource changes a namespace's own finalizers.
    if (is_namespace(resource)) keep(after.get_object(), before.get_object(), "spec");
  }
  json::Object& metadata = json::object_at(after, {"metadata"});
  for (const char* key : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                          "deletionGracePeriodSeconds", "generation", "resourceVersion"})
    keep(metadata, before.at("metadata").get_object(), key);
  if (after == before) return known;
  if (request.subresource.empty() && differs(before, after, "spec"))
    metadata["generation"] = known.header->generation + 1;
  return commit(resource, std::move(after), Event::Type::kModified);
}

Result<api::Version> FakeApiObjects::remove(const ApiRequest& request, WallTime now) {
  const std::string resource = client::resource_name(request.resource);
  GW_TRY(const api::Version known, current(request));
  json::Value options = json::Object();
  if (!request.body.empty()) {
    GW_TRY(options, json::parse(request.body));
  }
  const std::string_view uid = json::string_at(options, {"preconditions", "uid"});
  if (!uid.empty() && uid != known.header->uid) return refuse(Reason::kConflict, request, "the uid does not match");
  const std::string_view version = json::string_at(options, {"preconditions", "resourceVersion"});
  if (!version.empty() && version != std::to_string(known.header->revision))
    return refuse(Reason::kConflict, request, "the object has been modified");

  GW_TRY(json::Value object, json::parse(*known.json));
  const json::Value before = object;
  const std::string_view policy = json::string_at(options, {"propagationPolicy"});
  if (!policy.empty()) {
    set_finalizer(object, kForeground, policy == "Foreground");
    set_finalizer(object, kOrphan, policy == "Orphan");
  }
  const std::int64_t grace = resource == "pods" ? grace_of(object, options) : 0;
  json::Object& metadata = json::object_at(object, {"metadata"});
  const json::Value* granted = metadata.if_contains("deletionGracePeriodSeconds");
  if (granted != nullptr ? granted->to_number<std::int64_t>() > grace : grace > 0) {
    metadata["deletionTimestamp"] = time_text(now + std::chrono::seconds(grace));
    metadata["deletionGracePeriodSeconds"] = grace;
  } else if (!is_deleting(object)) {
    metadata["deletionTimestamp"] = time_text(now);
    if (is_namespace(resource)) json::object_at(object, {"status"})["phase"] = "Terminating";
  }
  if (object == before && is_kept(resource, object)) return known;
  return commit(resource, std::move(object), Event::Type::kModified);
}

Result<api::Version> FakeApiObjects::commit(const std::string& resource, json::Value object, Event::Type type) {
  Place& place = places_[resource];
  json::object_at(object, {"metadata"})["resourceVersion"] = std::to_string(++revision_);
  GW_TRY(api::Version version, client::encode_object(object, place.fields));
  const bool ends = is_deleting(object) && !is_kept(resource, object);
  if (ends) {
    place.objects.erase(version.header->name);
  } else {
    place.objects[version.header->name] = version;
  }
  place.log.push_back({ends ? Event::Type::kDeleted : type, version});
  return version;
}

}  // namespace gangway::testing
