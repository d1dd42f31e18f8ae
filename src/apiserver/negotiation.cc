#include "apiserver/negotiation.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "json/protobuf.h"
#include "json/yaml.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";
constexpr std::string_view kFormats = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
constexpr std::string_view kStreams = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes what stands before `separator` off the front of `text`.
std::string_view take_until(std::string_view& text, char separator) {
  auto at = text.find(separator);
  auto head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return trim(head);
}

struct MediaRange {
  std::string_view type;
  std::map<std::string_view, std::string_view> parameters;
};

MediaRange read_range(std::string_view text) {
  MediaRange range;
  range.type = take_until(text, ';');
  while (!text.empty()) {
    auto parameter = take_until(text, ';');
    auto name = take_until(parameter, '=');
    range.parameters[name] = trim(parameter);
  }
  return range;
}

bool is_json(std::string_view type) {
  return type == "application/json" || type == "*/*" || type == "application/*";
}
bool is_yaml(std::string_view type) {
  return type == "application/yaml";
}

std::optional<Wanted> acceptable(const MediaRange& range) {
  if (!is_json(range.type) && !is_yaml(range.type)) return std::nullopt;
  Wanted wanted;
  wanted.yaml = is_yaml(range.type);
  auto parameter = [&](std::string_view name) {
    auto at = range.parameters.find(name);
    return at == range.parameters.end() ? std::string_view() : at->second;
  };
  auto as = parameter("as");
  if (as.empty()) return wanted;
  wanted.form_version = std::string(parameter("v"));
  if (as == "APIGroupDiscoveryList" && parameter("g") == "apidiscovery.k8s.io") {
    if (wanted.form_version != "v2" && wanted.form_version != "v2beta1") return std::nullopt;
    wanted.aggregated_discovery = wanted.form_version;
    return wanted;
  }
  if (parameter("g") != "meta.k8s.io" || (wanted.form_version != "v1" && wanted.form_version != "v1beta1"))
    return std::nullopt;
  if (as == "Table") {
    wanted.form = Form::kTable;
  } else if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
    wanted.form = Form::kPartialMetadata;
  } else {
    return std::nullopt;
  }
  return wanted;
}

}  // namespace

Result<Wanted> negotiate(std::string_view accept) {
  if (trim(accept).empty()) return Wanted{};
  auto rest = accept;
  bool known_format = false;
  while (!rest.empty()) {
    auto range = read_range(take_until(rest, ','));
    if (auto wanted = acceptable(range)) return *wanted;
    known_format |= is_json(range.type) || is_yaml(range.type);
  }
  Error error;
  error.reason = Reason::kNotAcceptable;
  // The format would do, but there is no such form of the answer.
  error.message = known_format
                      ? fmt::format("only the following media types are accepted: {}", kFormats)
                      : fmt::format("406: Not Acceptable\n\nAvailable representations: {}, {}", kFormats, kStreams);
  return error;
}

Result<BodyFormat> body_format(std::string_view content_type, bool protobuf_too) {
  auto type = read_range(content_type).type;
  if (type.empty() || type == "application/json") return BodyFormat::kJson;
  if (is_yaml(type)) return BodyFormat::kYaml;
  if (protobuf_too && type == kProtobuf) return BodyFormat::kProtobuf;
  Error error;
  error.reason = Reason::kUnsupportedMediaType;
  error.message = fmt::format(
      "the body of the request was in an unknown format - accepted media types include: application/json, "
      "application/yaml{}{}",
      protobuf_too ? ", " : "", protobuf_too ? kProtobuf : "");
  return error;
}

Result<ParsedBody> parse_body(std::string_view body, BodyFormat format, const json::Schema* schema,
                              boost::json::storage_ptr storage) {
  if (format == BodyFormat::kJson) {
    std::vector<std::string> duplicates;
    GW_TRY(auto value, json::parse(body, {}, &duplicates, std::move(storage)));
    return ParsedBody{std::move(value), std::move(duplicates)};
  }
  ParsedBody parsed;
  if (format == BodyFormat::kProtobuf) {
    if (!schema) return internal_error("a protobuf body can only be read with its schema");
    GW_TRY(auto envelope, json::open_protobuf(body));
    GW_TRY(parsed.value, json::decode_protobuf(envelope.message, *schema));
    auto& object = parsed.value.get_object();
    if (!envelope.api_version.empty()) object["apiVersion"] = envelope.api_version;
    if (!envelope.kind.empty()) object["kind"] = envelope.kind;
    return parsed;
  }
  GW_TRY(auto documents, json::parse_yaml(body));
  if (documents.size() != 1)
    return bad_request(fmt::format("the body must be one YAML document (got {})", documents.size()));
  parsed.value = std::move(documents.front());
  return parsed;
}

}  // namespace gangway::apiserver
