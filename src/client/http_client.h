// HttpClient: an ApiClient to any kube-apiserver, over a Transport.
//
// Lists come in pages and are handed on whole; watches ask for bookmarks. Failures that are not answers (no connection,
// time out) are errors like all others: callers retry. Runs on the transport's loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/api_client.h"
#include "client/transport.h"

namespace gangway::client {

struct HttpClientOptions {
  std::string user_agent = "gangway";
  Duration timeout = std::chrono::seconds(30);
  // The server ends a watch after this; we watch on from where it was.
  Duration watch_timeout = std::chrono::minutes(5);
  int page_size = 500;
  // Header::fields, by resource name: what informers may index.
  std::map<std::string, std::vector<std::string>> selectable_fields = {
      {"pods", {"spec.nodeName", "status.phase"}},
  };
};

class HttpClient final : public ApiClient {
 public:
  explicit HttpClient(Transport& transport, HttpClientOptions options = {});

  void call(ApiRequest request, sys::Completion<api::Version> done) override;
  void list(ListRequest request, sys::Completion<ListAnswer> done) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> watch(WatchRequest request, WatchCallbacks callbacks) override;

 private:
  struct Listing;

  void next_page(std::shared_ptr<Listing> listing);
  const std::vector<std::string>& fields_of(const Resource& resource) const;
  HttpClientRequest request_to(std::string method, std::string target) const;

  Transport& transport_;
  HttpClientOptions options_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

// "/api/v1/namespaces/default/pods/web/status", "/apis/apps/v1/deployments"
std::string path_of(const Resource& resource, const api::ObjectName& object, std::string_view subresource = "");
// The error that an answer with this status and body is; a body that is no metav1.Status is quoted in part.
Error error_of(int status, std::string_view body);

}  // namespace gangway::client
