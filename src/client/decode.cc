#include "client/decode.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

namespace gangway::client {
namespace {

std::string text_of(const json::Object& object, std::string_view key) {
  const json::Value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool flag_of(const json::Object& object, std::string_view key) {
  const json::Value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

Result<api::Revision> parse_revision(std::string_view text) {
  api::Revision revision = 0;
  if (text.empty()) return revision;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (failure != std::errc() || end != text.data() + text.size())
    return bad_request("metadata.resourceVersion: must be a decimal number (got \"" + std::string(text) + "\")");
  return revision;
}

api::StringPairs sorted_pairs(const json::Object& metadata, std::string_view key) {
  api::StringPairs pairs;
  const json::Value* map = metadata.if_contains(key);
  if (map == nullptr || !map->is_object()) return pairs;
  for (const auto& entry : map->get_object())
    if (entry.value().is_string()) pairs.emplace_back(entry.key(), entry.value().get_string());
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

std::vector<api::OwnerReference> owners_of(const json::Object& metadata) {
  std::vector<api::OwnerReference> owners;
  const json::Value* list = metadata.if_contains("ownerReferences");
  if (list == nullptr || !list->is_array()) return owners;
  for (const json::Value& item : list->get_array()) {
    if (!item.is_object()) continue;
    const json::Object& owner = item.get_object();
    owners.push_back({.api_version = text_of(owner, "apiVersion"),
                      .kind = text_of(owner, "kind"),
                      .name = text_of(owner, "name"),
                      .uid = text_of(owner, "uid"),
                      .controller = flag_of(owner, "controller"),
                      .block_owner_deletion = flag_of(owner, "blockOwnerDeletion")});
  }
  return owners;
}

std::string field_text(const json::Value& object, std::string_view path) {
  const json::Value* at = &object;
  while (!path.empty()) {
    const auto dot = path.find('.');
    const std::string_view step = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    if (!at->is_object() || (at = at->get_object().if_contains(step)) == nullptr) return "";
  }
  if (at->is_string()) return std::string(at->get_string());
  return at->is_null() || at->is_structured() ? std::string() : json::serialize(*at);
}

}  // namespace

Result<api::Header> header_of(const json::Value& object, const std::vector<std::string>& fields) {
  const json::Value* found = json::find(object, {"metadata"});
  if (found == nullptr || !found->is_object()) return bad_request("metadata: must be an object");
  const json::Object& metadata = found->get_object();

  api::Header header;
  header.name = {text_of(metadata, "namespace"), text_of(metadata, "name")};
  header.uid = text_of(metadata, "uid");
  GW_TRY(header.revision, parse_revision(text_of(metadata, "resourceVersion")));
  if (const json::Value* generation = metadata.if_contains("generation"); generation != nullptr) {
    if (generation->is_int64()) header.generation = generation->get_int64();
  }
  header.labels = sorted_pairs(metadata, "labels");
  header.owners = owners_of(metadata);
  if (const json::Value* list = metadata.if_contains("finalizers"); list != nullptr && list->is_array()) {
    for (const json::Value& item : list->get_array())
      if (item.is_string()) header.finalizers.emplace_back(item.get_string());
  }
  if (const std::string created = text_of(metadata, "creationTimestamp"); !created.empty()) {
    GW_TRY(header.created, parse_rfc3339(created));
  }
  if (const std::string deleting = text_of(metadata, "deletionTimestamp"); !deleting.empty()) {
    GW_TRY(header.deleting_since, parse_rfc3339(deleting));
  }
  for (const std::string& path : fields) header.fields.emplace_back(path, field_text(object, path));
  std::sort(header.fields.begin(), header.fields.end());
  return header;
}

Result<api::Version> decode_object(std::string json, const std::vector<std::string>& fields) {
  GW_TRY(const json::Value tree, json::parse(json));
  GW_TRY(api::Header header, header_of(tree, fields));
  return api::Version{std::make_shared<const api::Header>(std::move(header)),
                      std::make_shared<const std::string>(std::move(json))};
}

Result<api::Version> encode_object(const json::Value& object, const std::vector<std::string>& fields) {
  GW_TRY(api::Header header, header_of(object, fields));
  return api::Version{std::make_shared<const api::Header>(std::move(header)),
                      std::make_shared<const std::string>(json::serialize(object))};
}

}  // namespace gangway::client
