#include "controllers/template_hash.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "client/name_hash.h"

namespace gangway::controllers {
namespace {

using Entry = std::pair<std::string_view, const json::Value*>;

std::vector<Entry> sorted(const json::Object& object) {
  std::vector<Entry> entries;
  for (const auto& entry : object)
    if (!entry.value().is_null()) entries.emplace_back(std::string_view(entry.key()), &entry.value());
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.first < b.first; });
  return entries;
}

void append(const json::Value& value, std::string& out) {
  if (value.is_object()) {
    out += '{';
    for (const auto& [key, inner] : sorted(value.get_object())) {
      json::append_quoted(key, out);
      out += ':';
      append(*inner, out);
      out += ',';
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const json::Value& item : value.get_array()) {
      append(item, out);
      out += ',';
    }
    out += ']';
  } else {
    json::serialize_to(value, out);
  }
}

}  // namespace

std::string canonical_text(const json::Value& value) {
  std::string out;
  append(value, out);
  return out;
}

std::string canonical_template(const json::Value& pod_template) {
  const json::Value* hash = json::find(pod_template, {"metadata", "labels", kPodTemplateHash});
  if (hash == nullptr) return canonical_text(pod_template);
  json::Value plain = pod_template;
  json::object_at(plain, {"metadata", "labels"}).erase(kPodTemplateHash);
  return canonical_text(plain);
}

std::string short_hash(const std::string& text, std::int64_t collisions) {
  return client::NameHash().mix(text).mix(static_cast<std::uint64_t>(collisions)).text();
}

}  // namespace gangway::controllers
