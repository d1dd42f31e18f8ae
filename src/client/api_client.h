// ApiClient: the seam to the cluster, embedded or real.
//
// All calls are made from, and all answers arrive by post on, the client's own loop. No order is promised between
// answers, nor between watches of different kinds; a watch may lag behind what calls have answered.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/object.h"
#include "base/result.h"
#include "sys/completion.h"
#include "sys/event_loop.h"

namespace gangway::client {

// A resource as a URL names it: {"", "v1", "pods"}, {"apps", "v1", "deployments"}.
struct Resource {
  std::string group;
  std::string version;
  std::string plural;
  auto operator<=>(const Resource&) const = default;
};

enum class Method : std::uint8_t { kGet, kCreate, kUpdate, kPatch, kDelete };
enum class PatchType : std::uint8_t { kJson, kMerge, kStrategic, kApply };

struct ApiRequest {
  Method method = Method::kGet;
  Resource resource;
  api::ObjectName object;   // the name is empty for a create
  std::string subresource;  // "status", "binding", …
  std::string body;         // JSON: the object, the patch, or DeleteOptions
  PatchType patch_type = PatchType::kMerge;
  std::string field_manager;
};

struct ListRequest {
  Resource resource;
  std::string ns;  // empty: all namespaces
  std::string label_selector;
  std::string field_selector;
};

struct ListAnswer {
  api::Revision revision = 0;
  std::vector<api::Version> items;
};

struct WatchEvent {
  enum class Type : std::uint8_t { kAdded, kModified, kDeleted, kBookmark };
  Type type = Type::kAdded;
  api::Version object;  // for a bookmark only the revision is set
};

struct WatchRequest {
  ListRequest what;
  api::Revision after = 0;
};

struct WatchCallbacks {
  std::function<void(WatchEvent)> on_event;
  // The watch is over; kExpired or kGone means that the caller must list again.
  std::function<void(Result<void>)> on_end;
};

class ApiClient {
 public:
  virtual ~ApiClient() = default;
  virtual void call(ApiRequest request, sys::Completion<api::Version> done) = 0;
  virtual void list(ListRequest request, sys::Completion<ListAnswer> done) = 0;
  // Destroying the subscription ends the watch; no callback comes after that.
  [[nodiscard]] virtual std::unique_ptr<sys::Subscription> watch(WatchRequest request, WatchCallbacks callbacks) = 0;
};

}  // namespace gangway::client
