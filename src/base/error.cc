#include "base/error.h"

#include <utility>

namespace gangway {

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kBadRequest:
      return "BadRequest";
    case Reason::kUnauthorized:
      return "Unauthorized";
    case Reason::kForbidden:
      return "Forbidden";
    case Reason::kNotFound:
      return "NotFound";
    case Reason::kMethodNotAllowed:
      return "MethodNotAllowed";
    case Reason::kNotAcceptable:
      return "NotAcceptable";
    case Reason::kAlreadyExists:
      return "AlreadyExists";
    case Reason::kConflict:
      return "Conflict";
    case Reason::kGone:
      return "Gone";
    case Reason::kExpired:
      return "Expired";
    case Reason::kRequestEntityTooLarge:
      return "RequestEntityTooLarge";
    case Reason::kUnsupportedMediaType:
      return "UnsupportedMediaType";
    case Reason::kInvalid:
      return "Invalid";
    case Reason::kTooManyRequests:
      return "TooManyRequests";
    case Reason::kInternalError:
      return "InternalError";
    case Reason::kServiceUnavailable:
      return "ServiceUnavailable";
    case Reason::kTimeout:
      return "Timeout";
    case Reason::kUnknown:
      return "";
  }
  return "Unknown";
}

int http_status(Reason reason) {
  switch (reason) {
    case Reason::kBadRequest:
      return 400;
    case Reason::kUnauthorized:
      return 401;
    case Reason::kForbidden:
      return 403;
    case Reason::kNotFound:
      return 404;
    case Reason::kMethodNotAllowed:
      return 405;
    case Reason::kNotAcceptable:
      return 406;
    case Reason::kAlreadyExists:
      return 409;
    case Reason::kConflict:
      return 409;
    case Reason::kGone:
      return 410;
    case Reason::kExpired:
      return 410;
    case Reason::kRequestEntityTooLarge:
      return 413;
    case Reason::kUnsupportedMediaType:
      return 415;
    case Reason::kInvalid:
      return 422;
    case Reason::kTooManyRequests:
      return 429;
    case Reason::kInternalError:
      return 500;
    case Reason::kServiceUnavailable:
      return 503;
    case Reason::kTimeout:
      return 504;
    case Reason::kUnknown:
      return 500;
  }
  return 500;
}

Error Error::within(std::string_view context) && {
  message = std::string(context) + ": " + message;
  return std::move(*this);
}

Error bad_request(std::string message) {
  return Error{.reason = Reason::kBadRequest, .message = std::move(message), .subject = {}, .causes = {}};
}

Error internal_error(std::string message) {
  return Error{.reason = Reason::kInternalError, .message = std::move(message), .subject = {}, .causes = {}};
}

}  // namespace gangway
