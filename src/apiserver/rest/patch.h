// The four kinds of patches, from a request's body to an edited object.
#pragma once

#include <cstdint>

#include "apiserver/rest/call.h"
#include "apiserver/rest/options.h"
#include "apiserver/rest/prepare.h"

namespace gangway::apiserver {

enum class PatchType : std::uint8_t { kJson, kMerge, kStrategic, kApply };

struct Patch {
  PatchType type = PatchType::kMerge;
  json::Value body;
  std::vector<std::string> duplicates;
};

// Reads the patch off the request; kUnsupportedMediaType names the types the kind takes.
Result<Patch> read_patch(const Call& call, const WriteOptions& options);

// `old` with the patch applied, conforming to the call's version.
Result<Edited> apply_patch(Call& call, const WriteOptions& options, const Patch& patch, const json::Value& old);

// The same for a document that is not of the call's kind (a Scale), and for patches other than applies. What is wrong
// with the outcome is wrong with the patch.
Result<json::Value> patch_document(const Patch& patch, const json::Value& old, const json::Schema& schema);

// An apply to a name that does not exist creates it.
Result<Edited> apply_to_nothing(Call& call, const WriteOptions& options, const Patch& patch);

}  // namespace gangway::apiserver
