#include "apiserver/rest/list_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "apiserver/status.h"
#include "base/base64.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kMatch = "resourceVersionMatch";

void forbid(std::string_view field, std::string_view why, std::vector<Cause>& causes) {
  causes.push_back(Cause{"FieldValueForbidden", fmt::format("Forbidden: {}", why), std::string(field)});
}

void unsupported_match(std::string_view text, std::string_view supported, std::vector<Cause>& causes) {
  causes.push_back(Cause{"FieldValueNotSupported",
                         fmt::format("Unsupported value: \"{}\": supported values: {}", text, supported),
                         std::string(kMatch)});
}

RevisionMatch read_match(const sys::Query& query, std::vector<Cause>& causes) {
  if (query.has("sendInitialEvents")) forbid("sendInitialEvents", "sendInitialEvents is forbidden for list", causes);
  auto text = query.get(kMatch);
  if (text.empty()) return RevisionMatch::kUnset;
  if (query.get("resourceVersion").empty())
    forbid(kMatch, "resourceVersionMatch is forbidden unless resourceVersion is provided", causes);
  if (!query.get("continue").empty())
    forbid(kMatch, "resourceVersionMatch is forbidden when continue is provided", causes);
  if (text == "NotOlderThan") return RevisionMatch::kNotOlderThan;
  if (text == "Exact") {
    if (query.get("resourceVersion") == "0")
      forbid(kMatch, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"", causes);
    return RevisionMatch::kExact;
  }
  unsupported_match(text, "\"Exact\", \"NotOlderThan\", \"\"", causes);
  return RevisionMatch::kUnset;
}

void check_watch_match(const sys::Query& query, std::vector<Cause>& causes) {
  auto match = query.get(kMatch);
  if (query.has("sendInitialEvents")) {
    if (match != "NotOlderThan")
      forbid(kMatch, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan", causes);
  } else if (!match.empty()) {
    forbid(kMatch, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided", causes);
  }
  if (!match.empty() && match != "NotOlderThan") unsupported_match(match, "\"NotOlderThan\"", causes);
  if (!query.get("continue").empty())
    forbid(kMatch, "resourceVersionMatch is forbidden when continue is provided", causes);
}

Result<void> refuse(std::vector<Cause> causes) {
  if (causes.empty()) return {};
  return invalid("meta.k8s.io", "ListOptions", "", std::move(causes));
}

}  // namespace

Result<std::optional<api::Revision>> read_revision(const sys::Query& query) {
  auto text = query.get("resourceVersion");
  if (text.empty()) return std::optional<api::Revision>();
  api::Revision revision = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (error != std::errc() || end != text.data() + text.size()) {
    return bad_request(
        fmt::format("resourceVersion: Invalid value: \"{}\": must be a number that the server gave out", text));
  }
  return std::optional(revision);
}

bool Selection::matches(const api::Header& header) const {
  return (ns.empty() || header.name.ns == ns) && (name.empty() || header.name.name == name) && labels.matches(header) &&
         fields.matches(header);
}

Result<Selection> read_selection(const Call& call) {
  Selection selection;
  selection.ns = call.kind->namespaced ? call.info.ns : "";
  selection.name = call.info.name;
  GW_TRY(selection.labels, api::parse_label_selector(call.query.get("labelSelector")));
  api::FieldLabels known{call.kind->selectable_names, call.kind->namespaced, call.kind->custom,
                         call.kind->kind == "Job" ? std::string_view(call.kind->kind) : std::string_view()};
  GW_TRY(selection.fields, api::parse_field_selector(call.query.get("fieldSelector"), known));
  // Clients ask for one object by a field selector; it is found by its key, not by a scan.
  if (auto name = selection.fields.exact("metadata.name"); name && selection.name.empty()) selection.name = *name;
  if (auto ns = selection.fields.exact("metadata.namespace"); ns && selection.ns.empty()) selection.ns = *ns;
  return selection;
}

Result<ListOptions> read_list_options(const Call& call) {
  ListOptions options;
  GW_TRY(options.selection, read_selection(call));
  GW_TRY(auto limit, call.query.integer("limit"));
  options.limit = std::max<std::int64_t>(limit.value_or(0), 0);
  options.continue_token = call.query.get("continue");
  GW_TRY(options.revision, read_revision(call.query));
  std::vector<Cause> causes;
  options.match = read_match(call.query, causes);
  GW_CHECKED(refuse(std::move(causes)));
  if (!options.continue_token.empty() && options.revision && *options.revision != 0) {
    return bad_request("specifying resource version is not allowed when using continue");
  }
  return options;
}

Result<WatchOptions> read_watch_options(const Call& call) {
  WatchOptions options;
  GW_TRY(options.selection, read_selection(call));
  GW_TRY(options.revision, read_revision(call.query));
  GW_TRY(options.timeout_seconds, call.query.integer("timeoutSeconds"));
  options.bookmarks = call.query.flag("allowWatchBookmarks");
  std::vector<Cause> causes;
  if (call.query.has("sendInitialEvents")) options.send_initial_events = call.query.flag("sendInitialEvents");
  check_watch_match(call.query, causes);
  GW_CHECKED(refuse(std::move(causes)));
  return options;
}

std::string encode_continue(const ContinuePoint& point) {
  json::Object token{
      {"v", "meta.k8s.io/v1"}, {"rv", point.revision}, {"ns", point.start.ns}, {"start", point.start.name}};
  return base64url_encode(json::serialize(token));
}

Result<ContinuePoint> decode_continue(std::string_view token) {
  auto malformed = [] {
    return bad_request("continue key is not valid: it must be the token that the previous page gave");
  };
  auto bytes = base64url_decode(token);
  if (!bytes) return malformed();
  auto value = json::parse(*bytes);
  if (!value) return malformed();
  const auto* revision = json::find(*value, {"rv"});
  auto start = json::string_at(*value, {"start"});
  if (!revision || !revision->is_number() || start.empty()) return malformed();
  boost::system::error_code error;
  auto number = revision->to_number<api::Revision>(error);
  if (error) return malformed();
  return ContinuePoint{number, {std::string(json::string_at(*value, {"ns"})), std::string(start)}};
}

}  // namespace gangway::apiserver
