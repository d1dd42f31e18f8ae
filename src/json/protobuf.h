// Protobuf as another spelling of a built-in object: bytes in, the JSON tree out that the same object would have had.
//
// Clients of Kubernetes send the built-in kinds in protobuf by default. The messages' layout comes from the schemas
// (x-gangway-protobuf in kinds/definitions), so there is no generated code, and answers are never written in this form.
// What protobuf leaves out is absent from the tree; defaults and zero values are json/schema_default.h's business. Pure
// functions, callable from any thread; bad input of any kind is an error.
#pragma once

#include <string_view>

#include "json/schema.h"

namespace gangway::json {

// What a request body is wrapped in. Views into the body.
struct ProtobufEnvelope {
  std::string_view api_version;
  std::string_view kind;
  std::string_view message;
};
Result<ProtobufEnvelope> open_protobuf(std::string_view body);

// The object in `message`, without apiVersion and kind (they are in the envelope). Fields that the schema does not know
// are passed over. Errors carry the field's path.
Result<Value> decode_protobuf(std::string_view message, const Schema& schema, const ParseLimits& limits = {});

// Whether objects of this schema have a form in protobuf: users' own kinds have none.
inline bool has_protobuf(const Schema& schema) {
  return schema.protobuf != nullptr;
}

}  // namespace gangway::json
