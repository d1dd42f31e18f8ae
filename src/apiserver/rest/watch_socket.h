// WatchSocket: a watch as a WebSocket, for clients that cannot read a body as it comes (browsers). Each event is one
// text message; what the client says is not listened to.
//
// Owned by the connection and used on its loop only. It pulls from the same stream as a watch over HTTP does, as fast
// as the peer takes it.
#pragma once

#include <memory>

#include "sys/event_loop.h"
#include "sys/http.h"

namespace gangway::apiserver {

// Whether a request with these headers wants its answer as a WebSocket.
bool wants_websocket(const sys::HttpHeaders& headers);

// The answer: a WebSocket with what `stream` gives, each of its buffers a message, in the first protocol that the
// client offers.
sys::HttpResponse watch_as_websocket(const sys::HttpHeaders& request, std::unique_ptr<sys::BodyStream> stream,
                                     sys::EventLoop& here);

}  // namespace gangway::apiserver
