// The one error type of Gangway: a metav1.Status in the making.
//
// Codes are Kubernetes' status reasons, so an error that reaches the API needs no translation; bad input carries one
// Cause a field, with the field's path. A value type: no ownership, usable from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

enum class Reason : std::uint8_t {
  kBadRequest,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kMethodNotAllowed,
  kNotAcceptable,
  kAlreadyExists,
  kConflict,
  kGone,
  kExpired,
  kRequestEntityTooLarge,
  kUnsupportedMediaType,
  kInvalid,
  kTooManyRequests,
  kInternalError,
  kServiceUnavailable,
  kTimeout,
  kUnknown,  // 500 without a reason: Kubernetes gives none where it did not foresee the error
};

// "NotFound", "AlreadyExists", …
std::string_view to_string(Reason reason);
// The HTTP status code that goes with the reason.
int http_status(Reason reason);

// One thing that is wrong with the input. `reason` is metav1.CauseType ("FieldValueRequired", …).
struct Cause {
  std::string reason;
  std::string message;
  std::string field;

  bool operator==(const Cause&) const = default;
};

// What the error is about, where that is one object.
struct Subject {
  std::string group;
  std::string kind;  // the resource's plural for most reasons, the kind for kInvalid: as Kubernetes does it
  std::string name;
  std::string uid;
};

struct Error {
  Reason reason = Reason::kInternalError;
  std::string message;
  Subject subject;
  std::vector<Cause> causes;
  int retry_after_seconds = 0;

  // The same error with `context: ` in front of its message.
  Error within(std::string_view context) &&;
};

Error bad_request(std::string message);
Error internal_error(std::string message);

}  // namespace gangway
