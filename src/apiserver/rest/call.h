// Call: one API request while it is worked on, and Answer: what comes of it before it is put into bytes.
//
// A Call belongs to the loop its request came in on. HTTP requests and in-process clients make the same Calls, so both
// go through the same authorisation, review and commit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apiserver/auth/attributes.h"
#include "apiserver/auth/user.h"
#include "apiserver/negotiation.h"
#include "apiserver/registry.h"
#include "apiserver/request_info.h"
#include "sys/event_loop.h"
#include "sys/http.h"
#include "sys/url.h"

namespace gangway::apiserver {

struct Call {
  explicit Call(sys::EventLoop& loop) : here(loop) {}

  sys::EventLoop& here;  // where the answer is wanted
  UserInfo user;
  std::string method;
  RequestInfo info;
  sys::Query query;
  std::string content_type;
  std::string user_agent;
  std::string body;
  std::optional<sys::HttpHeaders> upgrade;  // of a request that wants to leave HTTP behind
  Wanted wanted;
  WallTime now;
  std::shared_ptr<const Registry> registry;
  const KindInfo* kind = nullptr;
  const ServedVersion* version = nullptr;
  std::vector<std::string> warnings;  // become Warning headers
  bool in_process = false;            // asked by a part of this process: answers stay values

  api::ObjectName object_name() const { return {kind->namespaced ? info.ns : std::string(), info.name}; }
  api::ObjectKey object_key() const { return {kind->storage_name, object_name()}; }
};
using CallPtr = std::shared_ptr<Call>;

// What the authorizers are asked about the call.
Attributes attributes_of(const Call& call);

// One object of the call's kind.
struct ObjectAnswer {
  api::Version object;
};

struct ListAnswer {
  api::Revision revision = 0;
  std::vector<api::Version> items;
  std::string continue_token;
  std::int64_t remaining = -1;  // -1: not known
};

// Ready JSON that is not an object of the call's kind (a Status, a review, discovery).
struct JsonAnswer {
  sys::Buffer bytes;
  std::string content_type = "application/json";  // empty: there is nothing to say
};

struct StreamAnswer {
  std::unique_ptr<sys::BodyStream> stream;
};

// A watch for a client in this process, which reads the log itself instead of bytes.
struct CursorAnswer {
  std::unique_ptr<store::Cursor> cursor;
};

// What somebody else answered, handed on as it is.
struct ResponseAnswer {
  sys::HttpResponse response;
};

struct Answer {
  int status = 200;
  std::variant<ObjectAnswer, ListAnswer, JsonAnswer, StreamAnswer, CursorAnswer, ResponseAnswer> content;
};

// Called once, on the call's loop.
using Done = std::function<void(Result<Answer>)>;

Answer json_answer(const json::Value& value, int status = 200);

}  // namespace gangway::apiserver
