// ResourceCatalog: which resources the cluster serves, and what kind each holds. For the controllers that work on all
// of them (garbage collection, namespaces). Custom resources come and go while it is used.
//
// Used on the control loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/api_client.h"
#include "sys/event_loop.h"

namespace gangway::controllers {

struct ResourceInfo {
  client::Resource resource;  // in the version that is preferred
  std::string kind;
  bool namespaced = true;
  bool deletable = true;  // has the verbs delete, list and watch
};

class ResourceCatalog {
 public:
  virtual ~ResourceCatalog() = default;
  // One entry a resource, whatever number of versions it is served in. An error when they cannot be told right now.
  virtual Result<std::vector<ResourceInfo>> resources() const = 0;
  // The resource of a kind, in any version of its group; none when it is not served.
  virtual std::optional<ResourceInfo> find_kind(std::string_view group, std::string_view kind) const = 0;
  // The entry of a resource by the name that keys have: "pods", "deployments.apps".
  virtual std::optional<ResourceInfo> find_resource(std::string_view resource_name) const = 0;
  // Runs `on_change` by post after resources have come or gone.
  [[nodiscard]] virtual std::unique_ptr<sys::Subscription> subscribe(sys::Task on_change) = 0;
};

}  // namespace gangway::controllers
