// Answers in bytes: objects, lists and events in the form and format that the client accepts.
#pragma once

#include <string>

#include "apiserver/rest/call.h"
#include "sys/http.h"

namespace gangway::apiserver {

// One object as the call's version, as itself, as a table of one row or as its metadata, as the client wants it.
Result<std::string> encode_object(const Call& call, const api::Version& version, bool with_columns = true);
// What is sent before a stored object's bytes, whose own opening brace is dropped: `{"kind":"Pod","apiVersion":"v1",`.
// Empty where the bytes cannot be sent as they are stored.
std::string stored_prefix(const Call& call);
// The object itself, with apiVersion and kind, whatever form the client wants.
Result<std::string> object_json(const Call& call, const api::Version& version);

sys::HttpResponse encode_answer(const Call& call, Answer answer);
sys::HttpResponse encode_error(const Call* call, const Error& error);
sys::HttpResponse json_response(int status, sys::Buffer body);

}  // namespace gangway::apiserver
