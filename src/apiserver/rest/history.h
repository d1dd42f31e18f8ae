// The recent past, read off the watch log.
//
// No state is kept for it: what has happened since is taken back from a newer root. It costs what has happened since,
// and reaches back as far as the log does. Any thread.
#pragma once

#include "store/store.h"

namespace gangway::apiserver {

// The objects of `resource` as they were at `revision`, which is not after `newest`. kExpired when the log no longer
// reaches back that far.
Result<store::ObjectMap> objects_as_of(const store::Store& store, const store::Root& newest,
                                       const api::ResourceName& resource, api::Revision revision);

}  // namespace gangway::apiserver
