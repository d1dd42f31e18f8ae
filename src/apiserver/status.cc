#include "apiserver/status.h"

#include <fmt/format.h>

#include "apiserver/registry.h"
#include "base/utf8.h"

namespace gangway::apiserver {
namespace {

Error about(Reason reason, std::string message, std::string_view group, std::string_view kind, std::string_view name) {
  Error error;
  error.reason = reason;
  error.message = std::move(message);
  error.subject = Subject{std::string(group), std::string(kind), std::string(name), {}};
  return error;
}

// What an error quotes may be bytes that came percent-encoded in a URL; the answer is text whatever they are.
json::Value details_of(const Error& error) {
  json::Object details;
  const auto& subject = error.subject;
  if (!subject.name.empty()) details["name"] = repaired_utf8(subject.name);
  if (!subject.group.empty()) details["group"] = repaired_utf8(subject.group);
  if (!subject.kind.empty()) details["kind"] = repaired_utf8(subject.kind);
  if (!subject.uid.empty()) details["uid"] = repaired_utf8(subject.uid);
  if (!error.causes.empty()) {
    json::Array causes;
    for (const auto& cause : error.causes) {
      json::Object entry;
      if (!cause.reason.empty()) entry["reason"] = repaired_utf8(cause.reason);
      if (!cause.message.empty()) entry["message"] = repaired_utf8(cause.message);
      if (!cause.field.empty()) entry["field"] = repaired_utf8(cause.field);
      causes.push_back(std::move(entry));
    }
    details["causes"] = std::move(causes);
  }
  if (error.retry_after_seconds > 0) details["retryAfterSeconds"] = error.retry_after_seconds;
  return details;
}

// Kubernetes answers these with details even where there is nothing to say in them.
bool has_details(const Error& error) {
  switch (error.reason) {
    case Reason::kNotFound:
    case Reason::kForbidden:
    case Reason::kMethodNotAllowed:
    case Reason::kInvalid:
      return true;
    // From before a kind was asked what it takes and gives.
    case Reason::kNotAcceptable:
      return error.message.starts_with("406: ");
    case Reason::kUnsupportedMediaType:
      return error.message.starts_with("415: ");
    default:
      return false;
  }
}

}  // namespace

json::Value status_of(const Error& error) {
  json::Object status{{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", json::Object()}, {"status", "Failure"}};
  status["message"] = repaired_utf8(error.message);
  if (error.reason != Reason::kUnknown) status["reason"] = to_string(error.reason);
  auto details = details_of(error);
  if (!details.as_object().empty() || has_details(error)) status["details"] = std::move(details);
  status["code"] = http_status(error.reason);
  return status;
}

json::Value success_status(std::string_view group, std::string_view resource, std::string_view name,
                           std::string_view uid) {
  json::Object details{{"name", name}};
  if (!group.empty()) details["group"] = group;
  details["kind"] = resource;
  if (!uid.empty()) details["uid"] = uid;
  return json::Object{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", json::Object()},
                      {"status", "Success"},
                      {"details", std::move(details)}};
}

Error not_found(const KindInfo& kind, std::string_view name) {
  return about(Reason::kNotFound, fmt::format("{} \"{}\" not found", kind.qualified_resource(), name), kind.group,
               kind.plural, name);
}

Error already_exists(const KindInfo& kind, std::string_view name) {
  return about(Reason::kAlreadyExists, fmt::format("{} \"{}\" already exists", kind.qualified_resource(), name),
               kind.group, kind.plural, name);
}

Error conflict(const KindInfo& kind, std::string_view name, std::string_view why) {
  return about(Reason::kConflict,
               fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", kind.qualified_resource(), name, why),
               kind.group, kind.plural, name);
}

Error invalid(std::string_view group, std::string_view kind, std::string_view name, std::vector<Cause> causes) {
  auto qualified = group.empty() ? std::string(kind) : fmt::format("{}.{}", kind, group);
  std::string list;
  for (const auto& cause : causes) {
    if (!list.empty()) list += ", ";
    list += cause.field.empty() ? cause.message : cause.field + ": " + cause.message;
  }
  if (causes.size() > 1) list = "[" + list + "]";
  auto error =
      about(Reason::kInvalid, fmt::format("{} \"{}\" is invalid: {}", qualified, name, list), group, kind, name);
  error.causes = std::move(causes);
  return error;
}

Error unforeseen(std::string message) {
  return about(Reason::kUnknown, std::move(message), "", "", "");
}

Error unknown_path() {
  auto error = about(Reason::kNotFound, "the server could not find the requested resource", "", "", "");
  return error;
}

Error method_not_allowed() {
  return about(Reason::kMethodNotAllowed, "the server does not allow this method on the requested resource", "", "",
               "");
}

}  // namespace gangway::apiserver
