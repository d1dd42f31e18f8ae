#include "client/http_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "client/decode.h"
#include "client/http_watch.h"
#include "client/resource.h"
#include "json/value.h"
#include "sys/url.h"

namespace gangway::client {
namespace {

constexpr std::array kReasons = {
    Reason::kBadRequest,
    Reason::kUnauthorized,
    Reason::kForbidden,
    Reason::kNotFound,
    Reason::kMethodNotAllowed,
    Reason::kNotAcceptable,
    Reason::kAlreadyExists,
    Reason::kConflict,
    Reason::kGone,
    Reason::kExpired,
    Reason::kRequestEntityTooLarge,
    Reason::kUnsupportedMediaType,
    Reason::kInvalid,
    Reason::kTooManyRequests,
    Reason::kInternalError,
    Reason::kServiceUnavailable,
    Reason::kTimeout,
};

void add_query(std::string& target, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  target += target.find('?') == std::string::npos ? '?' : '&';
  (target += key) += '=';
  target += sys::percent_encode(value);
}

std::string list_target(const ListRequest& what) {
  std::string target = path_of(what.resource, {what.ns, ""});
  add_query(target, "labelSelector", what.label_selector);
  add_query(target, "fieldSelector", what.field_selector);
  return target;
}

std::string method_of(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kCreate:
      return "POST";
    case Method::kUpdate:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
  }
  return "GET";
}

std::string content_type(const ApiRequest& request) {
  if (request.method != Method::kPatch) return "application/json";
  switch (request.patch_type) {
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
    case PatchType::kApply:
      return "application/apply-patch+yaml";
  }
  return "application/json";
}

Error answer_error(const HttpClientResponse& response) {
  Error error = error_of(response.status, response.body);
  const std::string_view after = response.headers.get("Retry-After");
  if (error.retry_after_seconds == 0)
    std::from_chars(after.data(), after.data() + after.size(), error.retry_after_seconds);
  return error;
}

// The items of a list leave out what the list says once for all of them.
Result<api::Version> item_version(json::Value item, const std::string& api_version, const std::string& kind,
                                  const std::vector<std::string>& fields) {
  if (!item.is_object()) return bad_request("items: must be objects");
  json::Object& object = item.get_object();
  if (!object.contains("apiVersion")) object["apiVersion"] = api_version;
  if (!object.contains("kind")) object["kind"] = kind;
  return encode_object(item, fields);
}

}  // namespace

struct HttpClient::Listing {
  ListRequest request;
  sys::Completion<ListAnswer> done;
  ListAnswer answer;
  std::string more;  // the server's continue token

  // Takes a page in; true when it was the last.
  Result<bool> add(const std::string& body, const std::vector<std::string>& fields) {
    json::ParseLimits limits;
    limits.max_bytes = std::size_t{1} << 30;
    GW_TRY(json::Value page, json::parse(body, limits));
    const std::string_view version = json::string_at(page, {"metadata", "resourceVersion"});
    std::from_chars(version.data(), version.data() + version.size(), answer.revision);
    std::string kind(json::string_at(page, {"kind"}));
    if (kind.ends_with("List")) kind.resize(kind.size() - 4);
    json::Value* items = json::find(page, {"items"});
    if (items != nullptr && items->is_array()) {
      for (json::Value& item : items->get_array()) {
        GW_TRY(api::Version decoded, item_version(std::move(item), api_version(request.resource), kind, fields));
        answer.items.push_back(std::move(decoded));
      }
    }
    more = json::string_at(page, {"metadata", "continue"});
    return more.empty();
  }
};

std::string path_of(const Resource& resource, const api::ObjectName& object, std::string_view subresource) {
  std::string path =
      resource.group.empty() ? "/api/" + resource.version : "/apis/" + resource.group + "/" + resource.version;
  if (!object.ns.empty()) path += "/namespaces/" + sys::percent_encode(object.ns);
  path += "/" + resource.plural;
  if (!object.name.empty()) path += "/" + sys::percent_encode(object.name);
  if (!subresource.empty()) (path += '/') += subresource;
  return path;
}

Error error_of(int status, std::string_view body) {
  Error error;
  error.message = "the server answered " + std::to_string(status) + ": " + std::string(body.substr(0, 200));
  error.reason = Reason::kInternalError;
  for (const Reason reason : kReasons) {
    if (http_status(reason) != status) continue;
    error.reason = status == 409 ? Reason::kConflict : reason;
    break;
  }
  const auto tree = json::parse(body);
  if (!tree || json::string_at(*tree, {"kind"}) != "Status") return error;
  error.message = json::string_at(*tree, {"message"});
  const std::string_view reason = json::string_at(*tree, {"reason"});
  for (const Reason known : kReasons)
    if (to_string(known) == reason) error.reason = known;
  error.subject = {std::string(json::string_at(*tree, {"details", "group"})),
                   std::string(json::string_at(*tree, {"details", "kind"})),
                   std::string(json::string_at(*tree, {"details", "name"})),
                   std::string(json::string_at(*tree, {"details", "uid"}))};
  const json::Value* after = json::find(*tree, {"details", "retryAfterSeconds"});
  if (after != nullptr && after->is_int64()) error.retry_after_seconds = static_cast<int>(after->get_int64());
  const json::Value* causes = json::find(*tree, {"details", "causes"});
  if (causes == nullptr || !causes->is_array()) return error;
  for (const json::Value& cause : causes->get_array()) {
    error.causes.push_back({std::string(json::string_at(cause, {"reason"})),
                            std::string(json::string_at(cause, {"message"})),
                            std::string(json::string_at(cause, {"field"}))});
  }
  return error;
}

HttpClient::HttpClient(Transport& transport, HttpClientOptions options)
    : transport_(transport), options_(std::move(options)) {}

const std::vector<std::string>& HttpClient::fields_of(const Resource& resource) const {
  static const std::vector<std::string> kNone;
  auto at = options_.selectable_fields.find(resource_name(resource));
  return at == options_.selectable_fields.end() ? kNone : at->second;
}

HttpClientRequest HttpClient::request_to(std::string method, std::string target) const {
  HttpClientRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.timeout = options_.timeout;
  request.headers.add("Accept", "application/json");
  request.headers.add("User-Agent", options_.user_agent);
  return request;
}

void HttpClient::call(ApiRequest request, sys::Completion<api::Version> done) {
  std::string target = path_of(request.resource, request.object, request.subresource);
  const bool names_manager =
      request.method == Method::kCreate || request.method == Method::kUpdate || request.method == Method::kPatch;
  if (names_manager) add_query(target, "fieldManager", request.field_manager);
  if (request.method == Method::kPatch && request.patch_type == PatchType::kApply) add_query(target, "force", "true");
  HttpClientRequest http = request_to(method_of(request.method), std::move(target));
  if (!request.body.empty()) http.headers.add("Content-Type", content_type(request));
  http.body = std::move(request.body);
  // Copied: the client may be gone when the answer comes.
  transport_.send(std::move(http), [fields = fields_of(request.resource), done = std::move(done)](auto response) {
    if (!response) return done(std::move(response).error());
    if (response->status < 200 || response->status > 299) return done(answer_error(*response));
    const auto tree = json::parse(response->body);
    // A deletion may be answered with a Status, which is no object.
    if (tree && json::string_at(*tree, {"kind"}) == "Status") return done(api::Version());
    done(decode_object(std::move(response->body), fields));
  });
}

void HttpClient::list(ListRequest request, sys::Completion<ListAnswer> done) {
  auto listing = std::make_shared<Listing>();
  listing->request = std::move(request);
  listing->done = std::move(done);
  next_page(std::move(listing));
}

void HttpClient::next_page(std::shared_ptr<Listing> listing) {
  std::string target = list_target(listing->request);
  add_query(target, "limit", std::to_string(options_.page_size));
  add_query(target, "continue", listing->more);
  transport_.send(request_to("GET", std::move(target)), [this, listing, life = std::weak_ptr(life_)](auto response) {
    if (life.expired()) return;
    if (!response) return listing->done(std::move(response).error());
    if (response->status != 200) return listing->done(answer_error(*response));
    auto last = listing->add(response->body, fields_of(listing->request.resource));
    if (!last) return listing->done(std::move(last).error());
    if (!*last) return next_page(listing);
    listing->done(std::move(listing->answer));
  });
}

std::unique_ptr<sys::Subscription> HttpClient::watch(WatchRequest request, WatchCallbacks callbacks) {
  std::string target = list_target(request.what);
  add_query(target, "watch", "true");
  add_query(target, "allowWatchBookmarks", "true");
  add_query(target, "resourceVersion", std::to_string(request.after));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.watch_timeout).count();
  add_query(target, "timeoutSeconds", std::to_string(seconds));
  return std::make_unique<HttpWatch>(transport_, request_to("GET", std::move(target)), fields_of(request.what.resource),
                                     std::move(callbacks));
}

}  // namespace gangway::client
