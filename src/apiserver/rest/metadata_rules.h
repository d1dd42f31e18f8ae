// Rules for metadata that hold for every kind: what the server fills in, what may not change, what is valid.
#pragma once

#include <string>
#include <vector>

#include "apiserver/rest/call.h"
#include "json/value.h"
#include "sys/entropy.h"

namespace gangway::apiserver {

// A new object gets its uid, its birthday and, from generateName, its name. System fields that a client sent are
// dropped.
void begin_life(json::Value& object, WallTime now, sys::Entropy& entropy);

// Brings back what an update cannot touch, and what it left out of that which may not change.
void keep_identity(json::Value& object, const json::Value& old);

// The object's name and namespace against those of the URL; fills in the namespace where it is missing.
Result<void> match_location(const Call& call, json::Value& object, bool name_required);

// Whether it is a resourceVersion at all ("" counts as one).
Result<void> check_revision_text(std::string_view revision);

std::vector<Cause> check_metadata(const Call& call, const json::Value& object);
std::vector<Cause> check_metadata_update(const json::Value& object, const json::Value& old);

// The finalizers left on the object.
bool has_finalizers(const json::Value& object);

}  // namespace gangway::apiserver
