// What a node's agent answers, handed on to the client: a body as it comes, or an upgraded connection whose bytes are
// passed both ways without being looked at. Each side makes the other wait.
//
// Everything happens on the loop that the client's request came in on. When the client leaves, the agent's side ends.
#pragma once

#include <functional>
#include <memory>

#include "apiserver/rest/call.h"
#include "client/node_dialer.h"

namespace gangway::apiserver {

// Makes the error of an answer that is none.
using Refusal = std::function<Error(int status, std::string_view body)>;

struct NodeRequest {
  client::NodeAddress to;
  client::HttpClientRequest request;
  bool upgrade = false;
  Refusal refusal;  // null: whatever the answer is, it is handed on
};

// Answers with the agent's answer, or with an error that says that it could not be reached. Without a dialer none can.
void ask_node(client::NodeDialer* dialer, const CallPtr& call, NodeRequest request, const Done& done);

}  // namespace gangway::apiserver
