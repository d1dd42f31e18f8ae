// Kinds whose versions differ in fields: an object is stored in one of them and served in all. Pure functions.
#pragma once

#include <string_view>

#include "apiserver/rest/call.h"
#include "json/value.h"

namespace gangway::apiserver {

// Whether the call speaks another version than the one that objects are stored in, with other fields.
bool is_converted(const Call& call);

// From the stored form to that of the call's version, and back. Nothing happens where they are the same.
void to_served_version(const Call& call, json::Value& object);
void to_stored_version(const Call& call, json::Value& object);

}  // namespace gangway::apiserver
