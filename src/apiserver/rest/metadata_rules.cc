#include "apiserver/rest/metadata_rules.h"

#include <fmt/format.h>

#include "apiserver/status.h"
#include "apiserver/strategies/field.h"
#include "apiserver/strategy.h"
#include "base/names.h"
#include "base/quote.h"

namespace gangway::apiserver {
namespace {

constexpr std::size_t kMaxAnnotationBytes = 256 * 1024;
constexpr std::size_t kLongestGeneratedPrefix = 58;  // leaves room for the random suffix within 63 characters

Cause invalid_value(std::string field, std::string_view value, std::string_view why) {
  return Cause{"FieldValueInvalid", fmt::format("Invalid value: \"{}\": {}", value, why), std::move(field)};
}

void check_labels(const json::Value& metadata, std::vector<Cause>& causes) {
  const auto* labels = json::find(metadata, {"labels"});
  if (!labels || !labels->is_object()) return;
  for (const auto& [key, value] : labels->get_object()) {
    for (const auto& message : names::check_qualified_name(key))
      causes.push_back(invalid_value("metadata.labels", key, message));
    if (!value.is_string()) continue;
    auto text = std::string_view(value.get_string());
    for (const auto& message : names::check_label_value(text))
      causes.push_back(invalid_value("metadata.labels", text, message));
  }
}

void check_annotations(const json::Value& metadata, std::vector<Cause>& causes) {
  const auto* annotations = json::find(metadata, {"annotations"});
  if (!annotations || !annotations->is_object()) return;
  std::size_t total = 0;
  for (const auto& [key, value] : annotations->get_object()) {
    std::string lower(key);
    for (char& c : lower) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    }
    for (const auto& message : names::check_qualified_name(lower)) {
      causes.push_back(invalid_value("metadata.annotations", key, message));
    }
    total += key.size() + (value.is_string() ? value.get_string().size() : 0);
  }
  if (total > kMaxAnnotationBytes) {
    causes.push_back(Cause{"FieldValueTooLong",
                           fmt::format("Too long: may not be more than {} bytes", kMaxAnnotationBytes),
                           "metadata.annotations"});
  }
}

void check_owners(const json::Value& metadata, std::vector<Cause>& causes) {
  const auto* owners = json::find(metadata, {"ownerReferences"});
  if (!owners || !owners->is_array()) return;
  std::string_view controller;
  for (const auto& owner : owners->get_array()) {
    auto require = [&](std::string_view key, std::string_view why) {
      if (json::string_at(owner, {key}).empty())
        causes.push_back(invalid_value(fmt::format("metadata.ownerReferences.{}", key), "", why));
    };
    require("apiVersion", "version must not be empty");
    require("kind", "kind must not be empty");
    require("name", "name must not be empty");
    require("uid", "uid must not be empty");
    // An event's end says nothing about what it tells of.
    if (json::string_at(owner, {"apiVersion"}) == "v1" && json::string_at(owner, {"kind"}) == "Event") {
      causes.push_back(Cause{
          "FieldValueInvalid",
          fmt::format("Invalid value: {}: /v1, Kind=Event is disallowed from being an owner", json::serialize(owner)),
          "metadata.ownerReferences"});
    }
    const auto* is_controller = json::find(owner, {"controller"});
    if (!is_controller || !is_controller->is_bool() || !is_controller->get_bool()) continue;
    if (!controller.empty()) {
      causes.push_back(
          Cause{"FieldValueInvalid",
                fmt::format("Invalid value: Only one reference can have Controller set to true. Found \"true\" in "
                            "references for {} and {}",
                            controller, json::string_at(owner, {"name"})),
                "metadata.ownerReferences"});
    }
    controller = json::string_at(owner, {"name"});
  }
}

// Finalizers of built-in kinds must say whose they are.
void check_finalizers(const json::Value& metadata, bool qualified, std::vector<Cause>& causes) {
  const auto* finalizers = json::find(metadata, {"finalizers"});
  if (!finalizers || !finalizers->is_array()) return;
  bool orphan = false;
  bool foreground = false;
  std::size_t index = 0;
  for (const auto& finalizer : finalizers->get_array()) {
    if (!finalizer.is_string()) continue;
    std::string_view name = finalizer.get_string();
    for (const auto& message : names::check_qualified_name(name)) {
      causes.push_back(invalid_value("metadata.finalizers", name, message));
    }
    auto at = fmt::format("metadata.finalizers[{}]", index++);
    bool standard = name == "orphan" || name == "foregroundDeletion" || name == "kubernetes";
    if (qualified && !standard && name.find('/') == std::string_view::npos) {
      causes.push_back(invalid_value(at, name, "name is neither a standard finalizer name nor is it fully qualified"));
    }
    orphan |= name == "orphan";
    foreground |= name == "foregroundDeletion";
  }
  if (orphan && foreground) {
    causes.push_back(Cause{"FieldValueInvalid",
                           fmt::format("Invalid value: {}: finalizer orphan and foregroundDeletion cannot be both set",
                                       shown(*finalizers)),
                           "metadata.finalizers"});
  }
}

void check_name(const Call& call, const json::Value& metadata, std::vector<Cause>& causes) {
  auto check = call.kind->strategy->check_name ? call.kind->strategy->check_name : &names::check_dns1123_subdomain;
  auto prefix = json::string_at(metadata, {"generateName"});
  if (!prefix.empty()) {
    for (const auto& message : check(names::mask_trailing_dash(prefix))) {
      causes.push_back(invalid_value("metadata.generateName", prefix, message));
    }
  }
  auto name = json::string_at(metadata, {"name"});
  if (name.empty()) {
    causes.push_back(Cause{"FieldValueRequired", "Required value: name or generateName is required", "metadata.name"});
    return;
  }
  for (const auto& message : check(name)) causes.push_back(invalid_value("metadata.name", name, message));
}

void check_namespace(const Call& call, const json::Value& metadata, std::vector<Cause>& causes) {
  auto ns = json::string_at(metadata, {"namespace"});
  if (!call.kind->namespaced) {
    if (!ns.empty()) {
      causes.push_back(Cause{"FieldValueForbidden", "Forbidden: not allowed on this type", "metadata.namespace"});
    }
    return;
  }
  if (ns.empty()) {
    causes.push_back(Cause{"FieldValueRequired", "Required value", "metadata.namespace"});
    return;
  }
  for (const auto& message : names::check_dns1123_label(ns))
    causes.push_back(invalid_value("metadata.namespace", ns, message));
}

bool same(const json::Value* a, const json::Value* b) {
  bool a_set = a && !a->is_null();
  bool b_set = b && !b->is_null();
  return a_set == b_set && (!a_set || *a == *b);
}

}  // namespace

void begin_life(json::Value& object, WallTime now, sys::Entropy& entropy) {
  auto& metadata = json::object_at(object, {"metadata"});
  for (auto field : {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"}) {
    metadata.erase(field);
  }
  metadata["uid"] = sys::new_uid(entropy);
  metadata["creationTimestamp"] = to_rfc3339(now);
  auto name = json::string_at(object, {"metadata", "name"});
  auto prefix = json::string_at(object, {"metadata", "generateName"});
  if (name.empty() && !prefix.empty()) {
    metadata["name"] = std::string(prefix.substr(0, kLongestGeneratedPrefix)) + sys::name_suffix(entropy);
  }
}

void keep_identity(json::Value& object, const json::Value& old) {
  auto& metadata = json::object_at(object, {"metadata"});
  const auto& before = old.at("metadata").as_object();
  auto take_back = [&](std::string_view field) {
    if (const auto* value = before.if_contains(field)) {
      metadata[field] = *value;
    } else {
      metadata.erase(field);
    }
  };
  auto is_said = [&](std::string_view field) {
    const auto* value = metadata.if_contains(field);
    return value && !value->is_null() && !(value->is_string() && value->get_string().empty());
  };
  take_back("generation");
  // What may not change is as it was when nothing is said of it; what is said of it is for check_metadata_update.
  for (auto field : {"uid", "deletionGracePeriodSeconds"}) {
    if (!is_said(field)) take_back(field);
  }
  if (before.contains("deletionTimestamp") || !is_said("deletionTimestamp")) take_back("deletionTimestamp");
  metadata.erase("selfLink");
  metadata["creationTimestamp"] = before.at("creationTimestamp");
  if (const auto* prefix = before.if_contains("generateName"); prefix && !metadata.contains("generateName")) {
    metadata["generateName"] = *prefix;
  }
}

Result<void> match_location(const Call& call, json::Value& object, bool name_required) {
  auto& metadata = json::object_at(object, {"metadata"});
  auto name = json::string_at(object, {"metadata", "name"});
  if (!call.info.name.empty()) {
    if (name.empty() && name_required)
      return bad_request(fmt::format(
          "the name of the object ({} based on URL) was undeterminable: name must be provided", call.info.name));
    if (!name.empty() && name != call.info.name) {
      return bad_request(
          fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, call.info.name));
    }
  }
  auto ns = json::string_at(object, {"metadata", "namespace"});
  if (!call.kind->namespaced) {
    if (!ns.empty()) return bad_request("namespace field should be empty for cluster-scoped resources");
    return {};
  }
  if (ns.empty()) {
    metadata["namespace"] = call.info.ns;
  } else if (ns != call.info.ns) {
    return bad_request("the namespace of the provided object does not match the namespace sent on the request");
  }
  return {};
}

Result<void> check_revision_text(std::string_view revision) {
  if (revision.find_first_not_of("0123456789") == std::string_view::npos) return {};
  return unforeseen(fmt::format("metadata.resourceVersion: {} is no version that a server gave out", quoted(revision)));
}

std::vector<Cause> check_metadata(const Call& call, const json::Value& object) {
  std::vector<Cause> causes;
  const auto& metadata = object.at("metadata");
  check_name(call, metadata, causes);
  check_namespace(call, metadata, causes);
  check_labels(metadata, causes);
  check_annotations(metadata, causes);
  check_owners(metadata, causes);
  check_finalizers(metadata, call.kind->group.empty(), causes);
  return causes;
}

std::vector<Cause> check_metadata_update(const json::Value& object, const json::Value& old) {
  std::vector<Cause> causes;
  for (std::string_view field : {"name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const auto* now = json::find(object, {"metadata", field});
    if (same(now, json::find(old, {"metadata", field}))) continue;
    causes.push_back(Cause{"FieldValueInvalid",
                           fmt::format("Invalid value: {}: field is immutable", now ? shown(*now) : "\"\""),
                           fmt::format("metadata.{}", field)});
  }
  // Once an object is being deleted, the set of those who still want a say can only shrink.
  if (json::find(old, {"metadata", "deletionTimestamp"})) {
    const auto* finalizers = json::find(object, {"metadata", "finalizers"});
    const auto* before = json::find(old, {"metadata", "finalizers"});
    std::string added;
    for (const auto& finalizer : finalizers && finalizers->is_array() ? finalizers->get_array() : json::Array()) {
      bool known = false;
      for (const auto& earlier : before && before->is_array() ? before->get_array() : json::Array())
        known |= earlier == finalizer;
      if (!known && finalizer.is_string())
        added += (added.empty() ? "" : ", ") + fmt::format("\"{}\"", std::string_view(finalizer.get_string()));
    }
    if (!added.empty()) {
      causes.push_back(
          Cause{"FieldValueForbidden",
                fmt::format("Forbidden: no new finalizers can be added if the object is being deleted, found new "
                            "finalizers []string{{{}}}",
                            added),
                "metadata.finalizers"});
    }
  }
  return causes;
}

bool has_finalizers(const json::Value& object) {
  const auto* finalizers = json::find(object, {"metadata", "finalizers"});
  return finalizers && finalizers->is_array() && !finalizers->get_array().empty();
}

}  // namespace gangway::apiserver
