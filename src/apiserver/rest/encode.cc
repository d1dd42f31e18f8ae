#include "apiserver/rest/encode.h"

#include <fmt/format.h>

#include "apiserver/rest/prepare.h"
#include "apiserver/rest/versions.h"
#include "apiserver/status.h"
#include "apiserver/tables/table.h"
#include "json/yaml.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kYaml = "application/yaml";

// {"kind":"Pod","apiVersion":"v1", — what stands before the stored bytes, whose own opening brace is dropped.
std::string type_prefix(const Call& call) {
  return fmt::format(R"({{"kind":"{}","apiVersion":"{}",)", call.kind->kind,
                     group_version(call.kind->group, call.version->name));
}

std::string list_metadata(const Call& call, const ListAnswer& answer) {
  auto metadata = fmt::format(R"({{"resourceVersion":"{}")", answer.revision);
  // Lists of custom resources always have the field.
  bool always = call.kind->custom && call.wanted.form == Form::kObject;
  if (always || !answer.continue_token.empty()) metadata += fmt::format(R"(,"continue":"{}")", answer.continue_token);
  if (answer.remaining >= 0) metadata += fmt::format(R"(,"remainingItemCount":{})", answer.remaining);
  return metadata + "}";
}

Result<std::string> partial_metadata(const Call& call, const api::Version& version, bool typed) {
  GW_TRY(auto object, json::parse(*version.json));
  to_served_version(call, object);
  json::Object partial;
  if (typed) {
    partial["kind"] = "PartialObjectMetadata";
    partial["apiVersion"] = "meta.k8s.io/" + call.wanted.form_version;
  }
  partial["metadata"] = std::move(object.as_object()["metadata"]);
  return json::serialize(partial);
}

// Built-in kinds leave apiVersion and kind out of list items, custom ones keep them.
Result<sys::Buffer> list_item(const Call& call, const api::Version& version) {
  if (call.wanted.form == Form::kPartialMetadata) {
    GW_TRY(auto text, partial_metadata(call, version, true));
    return sys::make_buffer(std::move(text));
  }
  if (call.kind->custom) {
    GW_TRY(auto text, object_json(call, version));
    return sys::make_buffer(std::move(text));
  }
  if (!call.kind->strategy->from_storage) return version.json;
  GW_TRY(auto object, json::parse(*version.json));
  call.kind->strategy->from_storage(object);
  return sys::make_buffer(json::serialize(object));
}

Result<std::vector<sys::Buffer>> list_json(const Call& call, const ListAnswer& answer) {
  static const auto comma = sys::make_buffer(",");
  bool partial = call.wanted.form == Form::kPartialMetadata;
  auto kind = partial ? "PartialObjectMetadataList" : call.kind->list_kind;
  auto version =
      partial ? "meta.k8s.io/" + call.wanted.form_version : group_version(call.kind->group, call.version->name);
  std::vector<sys::Buffer> body;
  body.reserve(2 * answer.items.size() + 2);
  body.push_back(sys::make_buffer(fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{},"items":[)", kind,
                                              version, list_metadata(call, answer))));
  for (const auto& item : answer.items) {
    if (body.size() > 1) body.push_back(comma);
    GW_TRY(auto bytes, list_item(call, item));
    body.push_back(std::move(bytes));
  }
  body.push_back(sys::make_buffer("]}\n"));
  return body;
}

Result<std::vector<sys::Buffer>> body_of(const Call& call, const Answer& answer) {
  if (const auto* ready = std::get_if<JsonAnswer>(&answer.content)) return std::vector{ready->bytes};
  if (const auto* list = std::get_if<ListAnswer>(&answer.content)) {
    if (call.wanted.form != Form::kTable) return list_json(call, *list);
    GW_TRY(auto table, table_json(call, list->items, list_metadata(call, *list)));
    return std::vector{sys::make_buffer(std::move(table))};
  }
  GW_TRY(auto text, encode_object(call, std::get<ObjectAnswer>(answer.content).object));
  text += '\n';
  return std::vector{sys::make_buffer(std::move(text))};
}

Result<std::vector<sys::Buffer>> as_yaml(const std::vector<sys::Buffer>& body) {
  std::string text;
  for (const auto& piece : body) text += *piece;
  GW_TRY(auto value, json::parse(text, {.max_bytes = text.size() + 1, .max_depth = 128}));
  return std::vector{sys::make_buffer(json::to_yaml(value))};
}

void add_warnings(const Call& call, sys::HttpResponse& response) {
  for (const auto& warning : call.warnings) {
    std::string quoted;
    for (char c : warning) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c == '\n' || c == '\r' ? ' ' : c;
    }
    response.headers.add("Warning", fmt::format("299 - \"{}\"", quoted));
  }
}

}  // namespace

Answer json_answer(const json::Value& value, int status) {
  return Answer{status, JsonAnswer{sys::make_buffer(json::serialize(value) + "\n")}};
}

std::string stored_prefix(const Call& call) {
  bool as_stored = call.wanted.form == Form::kObject && !call.kind->strategy->from_storage && !is_converted(call);
  return as_stored ? type_prefix(call) : std::string();
}

Result<std::string> object_json(const Call& call, const api::Version& version) {
  if (call.kind->strategy->from_storage || is_converted(call)) {
    GW_TRY(auto object, open_version(call, version));
    return json::serialize(object);
  }
  auto text = type_prefix(call);
  text.reserve(text.size() + version.json->size() + 32);
  text.append(*version.json, 1);
  return text;
}

Result<std::string> encode_object(const Call& call, const api::Version& version, bool with_columns) {
  switch (call.wanted.form) {
    case Form::kTable:
      return table_json(call, {version}, fmt::format(R"({{"resourceVersion":"{}"}})", version.header->revision),
                        with_columns);
    case Form::kPartialMetadata:
      return partial_metadata(call, version, true);
    case Form::kObject:
      break;
  }
  return object_json(call, version);
}

sys::HttpResponse json_response(int status, sys::Buffer body) {
  sys::HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", std::string(kJson));
  response.body.push_back(std::move(body));
  return response;
}

sys::HttpResponse encode_error(const Call* call, const Error& error) {
  auto status = status_of(error);
  bool yaml = call && call->wanted.yaml;
  sys::HttpResponse response;
  response.status = http_status(error.reason);
  response.headers.add("Content-Type", std::string(yaml ? kYaml : kJson));
  response.body.push_back(sys::make_buffer(yaml ? json::to_yaml(status) : json::serialize(status) + "\n"));
  if (error.retry_after_seconds > 0) response.headers.add("Retry-After", std::to_string(error.retry_after_seconds));
  if (error.reason == Reason::kUnauthorized) response.headers.add("WWW-Authenticate", "Bearer");
  if (call) add_warnings(*call, response);
  return response;
}

sys::HttpResponse encode_answer(const Call& call, Answer answer) {
  if (auto* ready = std::get_if<ResponseAnswer>(&answer.content)) {
    add_warnings(call, ready->response);
    return std::move(ready->response);
  }
  if (auto* stream = std::get_if<StreamAnswer>(&answer.content)) {
    sys::HttpResponse response;
    response.status = answer.status;
    response.headers.add("Content-Type", std::string(kJson));
    response.stream = std::move(stream->stream);
    add_warnings(call, response);
    return response;
  }
  auto body = body_of(call, answer);
  auto content_type = std::string(call.wanted.yaml ? kYaml : kJson);
  if (const auto* ready = std::get_if<JsonAnswer>(&answer.content)) {
    if (ready->content_type != kJson) content_type = ready->content_type;
  }
  if (body && call.wanted.yaml) body = as_yaml(*body);
  if (!body) return encode_error(&call, body.error());
  sys::HttpResponse response;
  response.status = answer.status;
  if (!content_type.empty()) response.headers.add("Content-Type", std::move(content_type));
  response.body = std::move(*body);
  add_warnings(call, response);
  return response;
}

}  // namespace gangway::apiserver
