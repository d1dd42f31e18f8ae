// The options a write takes in its query or body: CreateOptions, UpdateOptions, PatchOptions, DeleteOptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apiserver/rest/call.h"

namespace gangway::apiserver {

enum class FieldValidation : std::uint8_t { kIgnore, kWarn, kStrict };

struct WriteOptions {
  bool dry_run = false;
  FieldValidation field_validation = FieldValidation::kWarn;
  std::string manager;  // fieldManager, or the first word of the user agent
  bool force = false;   // apply: take over conflicting fields
};

Result<WriteOptions> read_write_options(const Call& call);

enum class Propagation : std::uint8_t { kDefault, kBackground, kForeground, kOrphan };

struct DeleteOptions {
  bool dry_run = false;
  std::optional<std::int64_t> grace_seconds;
  std::string uid;       // precondition
  std::string revision;  // precondition
  Propagation propagation = Propagation::kDefault;
};

// Of a DeleteOptions object.
Result<DeleteOptions> delete_options_of(const json::Value& object);
// From the body where there is one, else from the query.
Result<DeleteOptions> read_delete_options(const Call& call);

}  // namespace gangway::apiserver
