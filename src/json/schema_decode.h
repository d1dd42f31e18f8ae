// What a decoder of built-in types would say about a document: the first value of a wrong type, and the unknown fields.
//
// Built-in kinds refuse a wrong type while decoding (400), long before validation (422); clients know the messages, so
// they name the Go types as Kubernetes does. Pure functions, callable from any thread; a valid document costs one walk
// and no allocation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json/schema.h"

namespace gangway::json {

// kBuiltin: decoded as a Go type. kCustom: kept as written and checked by its schema.
enum class Dialect : std::uint8_t { kBuiltin, kCustom };

// The decode error of a built-in object, without the "Pod in version … cannot be handled as a Pod: " in front of it:
// `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`. None: all types fit.
std::optional<std::string> check_types(const Value& value, const Schema& schema);

// The paths of the fields that the schema does not know ("spec.containers[0].imagee"), in the order of the document.
// For kCustom the root and embedded resources have apiVersion, kind and metadata whatever the schema says; metadata is
// checked against `object_meta` when that is given, and paths come as the server lists them: metadata's first, sorted.
std::vector<std::string> unknown_fields(const Value& value, const Schema& schema, Dialect dialect,
                                        const Schema* object_meta = nullptr);

}  // namespace gangway::json
