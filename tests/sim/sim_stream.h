// A watch of a SimClient: a stream from the server's watch to the client's callbacks.
#pragma once

#include <memory>

#include "client/api_client.h"
#include "sim/sim_client.h"

namespace gangway::sim {

// Asks the server behind `gate`, over the wire of `side`. Destroying the subscription ends it.
std::unique_ptr<sys::Subscription> begin_stream(const std::shared_ptr<SimClient::Side>& side, Gate& gate,
                                                client::WatchRequest request, client::WatchCallbacks callbacks);

}  // namespace gangway::sim
