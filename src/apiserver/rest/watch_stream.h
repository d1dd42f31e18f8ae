// WatchStream: one client's watch, as a cursor into the kind's log that the connection pulls from.
//
// Owned by the connection and used on its loop only. What it costs at rest is a cursor, a selector and two timers.
#pragma once

#include <memory>
#include <vector>

#include "apiserver/rest/call.h"
#include "apiserver/rest/list_options.h"
#include "apiserver/rest/watch_frames.h"
#include "store/store.h"
#include "sys/http.h"

namespace gangway::apiserver {

// Starts the watch the call asks for. A revision that is too old yields a stream that says so (an ERROR event), as
// clients expect; only what is wrong with the request itself is an error.
Result<std::unique_ptr<sys::BodyStream>> open_watch(const CallPtr& call, store::Store& store,
                                                    std::shared_ptr<WatchFrames> frames);

}  // namespace gangway::apiserver
