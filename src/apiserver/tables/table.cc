#include "apiserver/tables/table.h"

#include <fmt/format.h>

#include "apiserver/rest/encode.h"
#include "apiserver/rest/prepare.h"
#include "apiserver/rest/versions.h"
#include "apiserver/tables/cells.h"
#include "apiserver/tables/pod_cells.h"
#include "base/time.h"

namespace gangway::apiserver {
namespace {

json::Array column_definitions(const ServedVersion& version) {
  json::Array definitions;
  for (const auto& column : version.columns) {
    definitions.push_back(json::Object{{"name", column.name},
                                       {"type", column.type},
                                       {"format", column.format},
                                       {"description", column.description},
                                       {"priority", column.priority}});
  }
  return definitions;
}

// What a path column shows: one value as it is, several joined, an age for dates.
json::Value path_cell(const Column& column, const json::Value& object, bool custom, WallTime now) {
  auto found = column.path->find(object);
  bool missing = found.empty() || found.front()->is_null();
  if (!custom) {
    // Built-in kinds show something even where there is no value.
    if (missing || (found.front()->is_string() && found.front()->get_string().empty())) return column.none;
    // A count that may also be a percentage is text.
    if (column.type == "string" && found.front()->is_int64())
      return json::Value(std::to_string(found.front()->get_int64()));
    return *found.front();
  }
  if (missing) return nullptr;
  if (column.type == "date") {
    return found.front()->is_string() ? json::Value(age_of(found.front()->get_string(), now))
                                      : json::Value("<invalid>");
  }
  if (found.size() == 1) {
    const auto& value = *found.front();
    if (column.type != "string" || value.is_string()) return value;
    return json::Value(json::serialize(value));
  }
  std::string text;
  for (const auto* value : found) {
    if (!text.empty()) text += ",";
    text += value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  }
  return json::Value(text);
}

json::Value cell_of(const Column& column, const json::Value& object, bool custom, WallTime now) {
  if (column.cell) return column.cell(object, now);
  return path_cell(column, object, custom, now);
}

enum class RowObject : std::uint8_t { kNone, kMetadata, kObject };

Result<RowObject> row_object(const Call& call) {
  auto text = call.query.get("includeObject");
  if (text.empty() || text == "Metadata") return RowObject::kMetadata;
  if (text == "Object") return RowObject::kObject;
  if (text == "None") return RowObject::kNone;
  return bad_request(fmt::format("unrecognized includeObject value: \"{}\"", text));
}

Result<json::Value> row_of(const Call& call, const api::Version& version, RowObject include) {
  GW_TRY(auto object, json::parse(*version.json));
  to_served_version(call, object);
  json::Array cells;
  for (const auto& column : call.version->columns)
    cells.push_back(cell_of(column, object, call.kind->custom, call.now));
  json::Object row{{"cells", std::move(cells)}, {"object", nullptr}};
  if (call.kind->storage_name == "pods") {
    if (auto conditions = cells::pod_row_conditions(object); !conditions.empty()) row["conditions"] = conditions;
  }
  if (include == RowObject::kMetadata) {
    row["object"] = json::Object{{"kind", "PartialObjectMetadata"},
                                 {"apiVersion", "meta.k8s.io/" + call.wanted.form_version},
                                 {"metadata", std::move(object.as_object()["metadata"])}};
  } else if (include == RowObject::kObject) {
    GW_TRY(row["object"], open_version(call, version));
  }
  return row;
}

}  // namespace

Result<std::string> table_json(const Call& call, const std::vector<api::Version>& objects,
                               std::string_view list_metadata, bool with_columns) {
  GW_TRY(auto include, row_object(call));
  auto columns = with_columns ? json::serialize(column_definitions(*call.version)) : std::string("null");
  auto text =
      fmt::format(R"({{"kind":"Table","apiVersion":"meta.k8s.io/{}","metadata":{},"columnDefinitions":{},"rows":[)",
                  call.wanted.form_version, list_metadata, columns);
  bool first = true;
  for (const auto& version : objects) {
    GW_TRY(auto row, row_of(call, version, include));
    if (!first) text += ',';
    first = false;
    text += json::serialize(row);
  }
  text += "]}";
  return text;
}

}  // namespace gangway::apiserver
