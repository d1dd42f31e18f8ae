#include "apiserver/rest/versions.h"

#include "api/convert/lossless.h"
#include "apiserver/strategy.h"

namespace gangway::apiserver {

bool is_converted(const Call& call) {
  return call.kind->strategy->versions && &call.kind->storage_version() != call.version;
}

void to_served_version(const Call& call, json::Value& object) {
  if (is_converted(call)) api::convert(object, *call.kind->strategy->versions, call.version->name);
}

void to_stored_version(const Call& call, json::Value& object) {
  if (is_converted(call)) api::convert(object, *call.kind->strategy->versions, call.kind->storage_version().name);
}

}  // namespace gangway::apiserver
