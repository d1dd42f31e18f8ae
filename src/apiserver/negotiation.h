// Which form of an answer the client wants: the Accept header, and the body formats we read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/schema.h"
#include "json/value.h"

namespace gangway::apiserver {

enum class Form : std::uint8_t {
  kObject,           // the objects themselves
  kTable,            // as=Table
  kPartialMetadata,  // as=PartialObjectMetadata(List)
};

struct Wanted {
  Form form = Form::kObject;
  bool yaml = false;
  std::string form_version = "v1";  // of meta.k8s.io, for tables and partial metadata
  // as=APIGroupDiscoveryList: aggregated discovery, with its version ("v2", "v2beta1"); empty: plain discovery.
  std::string aggregated_discovery;
};

// The first alternative of the header that we can give. kNotAcceptable when there is none.
Result<Wanted> negotiate(std::string_view accept);

enum class BodyFormat : std::uint8_t { kJson, kYaml, kProtobuf };
// kUnsupportedMediaType for anything else, and for protobuf unless `protobuf_too`; an empty header is JSON.
Result<BodyFormat> body_format(std::string_view content_type, bool protobuf_too);

struct ParsedBody {
  json::Value value;
  std::vector<std::string> duplicates;  // paths of fields that occur twice
};
// Protobuf needs the schema of what the body is. JSON becomes a tree in `storage`.
Result<ParsedBody> parse_body(std::string_view body, BodyFormat format, const json::Schema* schema = nullptr,
                              boost::json::storage_ptr storage = {});

}  // namespace gangway::apiserver
