// ApiServer: the Kubernetes API without sockets.
//
//   request → who (authenticate) → may they (authorize) → is there room (flow control) → what (route) → answer
//
// handle() runs on the net loop its request came in on; calls from inside the process enter by submit() as a named user
// and take the same way from authorisation on. Thread-safe; what it is given must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apiserver/auth/authenticator.h"
#include "apiserver/auth/flow_control.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/auth/token_issuer.h"
#include "apiserver/derived.h"
#include "apiserver/documents.h"
#include "apiserver/registry.h"
#include "apiserver/rest/call.h"
#include "apiserver/rest/resources.h"
#include "client/node_dialer.h"
#include "store/store.h"
#include "sys/clock.h"
#include "sys/entropy.h"
#include "sys/http.h"
#include "sys/metrics.h"

namespace gangway::apiserver {

class Routes;

class ApiServer final : public sys::HttpHandler {
 public:
  struct Parts {
    store::Store& store;
    sys::EventLoop& api_loop;
    const sys::Clock& clock;
    sys::Entropy& entropy;
    sys::Metrics& metrics;
    std::shared_ptr<const Registry> builtin_kinds;
    const Authenticator& authenticator;
    const TokenIssuer& tokens;
    ServerVersion version;
    client::NodeDialer* nodes = nullptr;  // null: no agent is ever reached
  };
  explicit ApiServer(Parts parts);
  ~ApiServer() override;

  void handle(sys::HttpRequest request, sys::EventLoop& here, sys::Respond respond) override;

  // A call of a user who is known already. `call` has its user, info, query and body set; the answer arrives on its
  // loop.
  void submit(const CallPtr& call, const Done& done);

  // The kinds that are served now.
  std::shared_ptr<const Registry> registry();
  Documents& documents();

 private:
  Decision authorize(const Attributes& attributes);

  Parts parts_;
  Derived<Registry> registry_;
  Derived<RbacPolicy> policy_;
  Resources resources_;
  FlowControl flow_;
  std::unique_ptr<Routes> routes_;
};

}  // namespace gangway::apiserver
