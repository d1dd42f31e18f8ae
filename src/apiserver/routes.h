// Routes: from an authorised call to the code that answers it.
#pragma once

#include "apiserver/documents.h"
#include "apiserver/nodes/usage_metrics.h"
#include "apiserver/rest/resources.h"
#include "apiserver/reviews.h"
#include "client/node_dialer.h"

namespace gangway::apiserver {

class Routes {
 public:
  Routes(Resources& resources, client::NodeDialer* nodes, Reviews reviews, ServerVersion version,
         sys::Metrics& metrics);

  void route(const CallPtr& call, const Done& done);
  Documents& documents() { return documents_; }

 private:
  void route_resource(const CallPtr& call, const Done& done);
  void route_subresource(const CallPtr& call, const Done& done);
  void route_virtual(const CallPtr& call, const Done& done);

  Resources& resources_;
  client::NodeDialer* nodes_;
  Documents documents_;
  Reviews reviews_;
  UsageMetrics usage_;
};

}  // namespace gangway::apiserver
