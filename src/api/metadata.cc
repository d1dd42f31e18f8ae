#include "api/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace gangway::api {
namespace {

constexpr std::string_view kResourceVersion = "resourceVersion";

std::string_view text_of(const json::Value& value) {
  if (!value.is_string()) return {};
  return {value.get_string().data(), value.get_string().size()};
}

std::string_view view(boost::json::string_view text) {
  return {text.data(), text.size()};
}

bool is_true(const json::Value& value) {
  return value.is_bool() && value.get_bool();
}

StringPairs read_pairs(const json::Value& value) {
  StringPairs pairs;
  if (!value.is_object()) return pairs;
  pairs.reserve(value.get_object().size());
  for (const auto& [key, text] : value.get_object()) pairs.emplace_back(key, text_of(text));
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

OwnerReference read_owner(const json::Value& value) {
  OwnerReference owner;
  if (!value.is_object()) return owner;
  for (const auto& member : value.get_object()) {
    auto key = view(member.key());
    if (key == "apiVersion") owner.api_version = text_of(member.value());
    if (key == "kind") owner.kind = text_of(member.value());
    if (key == "name") owner.name = text_of(member.value());
    if (key == "uid") owner.uid = text_of(member.value());
    if (key == "controller") owner.controller = is_true(member.value());
    if (key == "blockOwnerDeletion") owner.block_owner_deletion = is_true(member.value());
  }
  return owner;
}

std::optional<WallTime> read_time(const json::Value& value) {
  if (!value.is_string()) return std::nullopt;
  auto time = parse_rfc3339(text_of(value));
  if (!time) return std::nullopt;
  return *time;
}

Revision read_revision(const json::Value& value) {
  auto text = text_of(value);
  Revision revision = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  return error == std::errc() && end == text.data() + text.size() ? revision : 0;
}

// One pass over metadata, since looking keys up one by one would hash each of them.
void read_metadata(const json::Object& metadata, Header& header) {
  for (const auto& member : metadata) {
    auto key = view(member.key());
    const auto& value = member.value();
    if (key == "name") {
      header.name.name = text_of(value);
    } else if (key == "namespace") {
      header.name.ns = text_of(value);
    } else if (key == "uid") {
      header.uid = text_of(value);
    } else if (key == kResourceVersion) {
      header.revision = read_revision(value);
    } else if (key == "generation") {
      if (value.is_int64()) header.generation = value.get_int64();
    } else if (key == "labels") {
      header.labels = read_pairs(value);
    } else if (key == "ownerReferences") {
      if (!value.is_array()) continue;
      for (const auto& owner : value.get_array()) header.owners.push_back(read_owner(owner));
    } else if (key == "finalizers") {
      if (!value.is_array()) continue;
      for (const auto& finalizer : value.get_array()) header.finalizers.emplace_back(text_of(finalizer));
    } else if (key == "creationTimestamp") {
      header.created = read_time(value).value_or(WallTime());
    } else if (key == "deletionTimestamp") {
      header.deleting_since = read_time(value);
    }
  }
}

std::string field_text(const json::Value& value, std::string_view missing) {
  if (value.is_string()) return std::string(text_of(value));
  if (value.is_bool()) return value.get_bool() ? "true" : "false";
  if (value.is_int64()) return std::to_string(value.get_int64());
  return std::string(missing);
}

void append_key(std::string_view key, std::string& out) {
  if (out.back() != '{') out += ',';
  json::append_quoted(key, out);
  out += ':';
}

// Writes metadata and returns where in `out` the gap is. The position is known by construction: no text of the user's
// can be taken for it.
std::size_t append_metadata(const json::Object& metadata, std::string& out) {
  std::size_t gap = 0;
  auto append_gap = [&] {
    append_key(kResourceVersion, out);
    out += "\"\"";
    gap = out.size() - 1;
  };
  out += '{';
  for (const auto& member : metadata) {
    if (view(member.key()) == kResourceVersion) {
      append_gap();
      continue;
    }
    append_key(view(member.key()), out);
    json::serialize_to(member.value(), out);
  }
  if (gap == 0) append_gap();
  out += '}';
  return gap;
}

}  // namespace

SelectableFields::SelectableFields(const std::vector<SelectableField>& fields) {
  for (const auto& field : fields) {
    Field prepared{.path = field.path, .missing = field.missing, .steps = {}};
    for (std::size_t start = 0; start <= field.path.size();) {
      auto dot = std::min(field.path.find('.', start), field.path.size());
      prepared.steps.push_back(field.path.substr(start, dot - start));
      start = dot + 1;
    }
    fields_.push_back(std::move(prepared));
  }
  std::sort(fields_.begin(), fields_.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
}

StringPairs SelectableFields::read(const json::Value& object) const {
  StringPairs pairs;
  for (const auto& field : fields_) {
    const json::Value* at = &object;
    for (const auto& step : field.steps) {
      at = at->is_object() ? at->get_object().if_contains(step) : nullptr;
      if (at == nullptr) break;
    }
    auto text = at == nullptr ? field.missing : field_text(*at, field.missing);
    // A field without an entry reads as empty, so most objects need few entries.
    if (!text.empty()) pairs.emplace_back(field.path, std::move(text));
  }
  return pairs;
}

Header read_header(const json::Value& object, const SelectableFields& fields) {
  Header header;
  if (const auto* metadata = json::find(object, {"metadata"}); metadata != nullptr && metadata->is_object()) {
    read_metadata(metadata->get_object(), header);
  }
  header.fields = fields.read(object);
  return header;
}

Draft make_draft(const json::Value& object, const SelectableFields& fields) {
  static const json::Object kEmpty;
  const json::Object& members = object.is_object() ? object.get_object() : kEmpty;
  Draft draft;
  draft.header = read_header(object, fields);
  draft.header.revision = 0;
  draft.json.reserve(4096);
  draft.json += '{';
  for (const auto& member : members) {
    append_key(view(member.key()), draft.json);
    if (view(member.key()) == "metadata") {
      const auto& metadata = member.value();
      draft.revision_at = append_metadata(metadata.is_object() ? metadata.get_object() : kEmpty, draft.json);
    } else {
      json::serialize_to(member.value(), draft.json);
    }
  }
  if (draft.revision_at == 0) {
    append_key("metadata", draft.json);
    draft.revision_at = append_metadata(kEmpty, draft.json);
  }
  draft.json += '}';
  return draft;
}

Result<Version> parse_version(std::string bytes, const SelectableFields& fields) {
  auto object = json::parse(bytes);
  if (!object) return internal_error("stored object: " + object.error().message);
  auto header = read_header(*object, fields);
  if (header.name.name.empty() || header.revision == 0) {
    return internal_error(fmt::format("stored object \"{}\" in namespace \"{}\": no name or no resourceVersion",
                                      header.name.name, header.name.ns));
  }
  return Version{std::make_shared<const Header>(std::move(header)),
                 std::make_shared<const std::string>(std::move(bytes))};
}

}  // namespace gangway::api
