// Where a node's agent is, read off its Node object. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "client/node_dialer.h"
#include "json/value.h"

namespace gangway::apiserver {

// An agent that is not of the server's own machine issues its certificate itself, and says here by which authority.
// Only the node and administrators can write it, so it is as good as the node's own word.
inline constexpr std::string_view kAgentAuthorityAnnotation = "gangway.dev/agent-authority";

// kServiceUnavailable when the node has no agent, or says nowhere how to reach it.
Result<client::NodeAddress> agent_address(const json::Value& node);

}  // namespace gangway::apiserver
