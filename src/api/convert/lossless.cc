#include "api/convert/lossless.h"

#include <map>
#include <string>
#include <vector>

#include "json/json_patch.h"
#include "json/pointer.h"

namespace gangway::api {
namespace {

bool is_content(std::string_view key) {
  return key != "apiVersion" && key != "kind" && key != "metadata";
}

void add_operation(json::Array& patch, std::string_view op, const std::vector<std::string>& path,
                   const json::Value* value) {
  json::Object operation{{"op", op}, {"path", json::Pointer(path).to_string()}};
  if (value) operation["value"] = *value;
  patch.push_back(std::move(operation));
}

void add_differences(json::Array& patch, const json::Value& from, const json::Value& to,
                     std::vector<std::string>& path);

void add_member_differences(json::Array& patch, const json::Object& from, const json::Object& to,
                            std::vector<std::string>& path) {
  const bool is_root = path.empty();
  for (const auto& [key, value] : from) {
    if (to.contains(key) || (is_root && !is_content(key))) continue;
    path.emplace_back(key);
    add_operation(patch, "remove", path, nullptr);
    path.pop_back();
  }
  for (const auto& [key, value] : to) {
    if (is_root && !is_content(key)) continue;
    path.emplace_back(key);
    if (const auto* before = from.if_contains(key)) {
      add_differences(patch, *before, value, path);
    } else {
      add_operation(patch, "add", path, &value);
    }
    path.pop_back();
  }
}

void add_differences(json::Array& patch, const json::Value& from, const json::Value& to,
                     std::vector<std::string>& path) {
  if (from.is_object() && to.is_object())
    return add_member_differences(patch, from.get_object(), to.get_object(), path);
  if (from.is_array() && to.is_array() && from.get_array().size() == to.get_array().size()) {
    for (std::size_t i = 0; i < to.get_array().size(); ++i) {
      path.push_back(std::to_string(i));
      add_differences(patch, from.get_array()[i], to.get_array()[i], path);
      path.pop_back();
    }
  } else if (!json::equal(from, to)) {
    add_operation(patch, "replace", path, &to);
  }
}

// The annotation's patch, taken out of the object; nothing when there is none that could be applied.
json::Array take_remembered(json::Value& object, const std::string& annotation) {
  auto* annotations = json::find(object, {"metadata", "annotations"});
  if (!annotations || !annotations->is_object()) return {};
  auto at = annotations->get_object().find(annotation);
  if (at == annotations->get_object().end()) return {};
  auto patch = at->value().is_string() ? json::parse(at->value().get_string()) : Result<json::Value>(json::Value());
  annotations->get_object().stable_erase(at);
  // An object that had no other annotation has none.
  if (annotations->get_object().empty()) json::object_at(object, {"metadata"}).erase("annotations");
  if (!patch || !patch->is_array()) return {};
  json::Array content;
  for (auto& operation : patch->get_array()) {
    const auto path = json::Pointer::parse(json::string_at(operation, {"path"}));
    const bool is_plain = json::string_at(operation, {"from"}).empty();
    if (is_plain && path && !path->is_root() && is_content(path->tokens().front()))
      content.push_back(std::move(operation));
  }
  return content;
}

// Operations on the members of one object belong together: one of them may only be right with the others.
std::map<std::string, json::Array> by_place(const json::Array& patch) {
  std::map<std::string, json::Array> groups;
  for (const auto& operation : patch) {
    const std::string path(json::string_at(operation, {"path"}));
    groups[path.substr(0, path.rfind('/'))].push_back(operation);
  }
  return groups;
}

// One conversion on its way.
struct Passage {
  const json::Value& written;  // what was converted
  void (*back)(json::Value& object);

  bool means_the_same(const json::Value& candidate) const {
    auto again = candidate;
    back(again);
    return content_patch(again, written).empty();
  }

  bool restore(json::Value& object, const json::Array& patch) const {
    auto restored = json::apply_json_patch(object, patch);
    if (!restored || !restored->is_object() || !means_the_same(*restored)) return false;
    object = std::move(*restored);
    return true;
  }
};

}  // namespace

json::Array content_patch(const json::Value& from, const json::Value& to) {
  json::Array patch;
  std::vector<std::string> path;
  if (from.is_object() && to.is_object()) add_differences(patch, from, to, path);
  return patch;
}

void convert(json::Value& object, const VersionPair& pair, std::string_view to) {
  if (!object.is_object()) return;
  const bool is_up = to == pair.newer;
  const auto annotation_of = [](std::string_view version) { return std::string(kOnlyInAnnotation).append(version); };
  const auto there = annotation_of(to);
  const auto here = annotation_of(is_up ? pair.older : pair.newer);
  take_remembered(object, here);
  const auto remembered = take_remembered(object, there);
  const json::Value written = object;
  (is_up ? pair.to_newer : pair.to_older)(object);
  const Passage passage{written, is_up ? pair.to_older : pair.to_newer};
  if (!remembered.empty() && !passage.restore(object, remembered)) {
    for (const auto& [place, group] : by_place(remembered)) passage.restore(object, group);
  }
  auto again = object;
  passage.back(again);
  if (const auto lost = content_patch(again, written); !lost.empty())
    json::object_at(object, {"metadata", "annotations"})[here] = json::serialize(lost);
}

}  // namespace gangway::api
