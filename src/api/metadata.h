// From documents to what the store keeps: headers, drafts with a gap for the revision, versions read back from bytes.
//
// These run once for every write (and for every object when a store is opened), so they read each key once. What is of
// the wrong type is taken as missing: validation has its say before. Pure functions, callable from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "base/result.h"
#include "json/value.h"

namespace gangway::api {

// A field that a kind may be selected by, besides metadata.name and metadata.namespace.
struct SelectableField {
  std::string path;     // "spec.nodeName"
  std::string missing;  // its value where the object has none: "false" for spec.unschedulable
};

// The selectable fields of a kind, prepared once.
class SelectableFields {
 public:
  SelectableFields() = default;
  explicit SelectableFields(const std::vector<SelectableField>& fields);

  // The values for a header: strings as they are, booleans and integers as text.
  StringPairs read(const json::Value& object) const;

 private:
  struct Field {
    std::string path;
    std::string missing;
    std::vector<std::string> steps;
  };
  std::vector<Field> fields_;  // sorted by path
};

// The revision is taken from metadata.resourceVersion where that is a number, else 0.
Header read_header(const json::Value& object, const SelectableFields& fields);

// Serialises `object` with a gap at metadata.resourceVersion, whatever stood there; metadata is made where there is
// none.
Draft make_draft(const json::Value& object, const SelectableFields& fields);

// The version whose bytes these are. kInternalError when they are not an object with a name and a resourceVersion.
Result<Version> parse_version(std::string bytes, const SelectableFields& fields = {});

}  // namespace gangway::api
