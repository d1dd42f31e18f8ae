// Who may use a node's endpoints, decided the way kubelet does: by the API server, except for the API server itself.
//
//   client certificate ──────────────────────┐
//   bearer token ──► TokenReview ──► user ────┴─► SubjectAccessReview: may they `get nodes/stats` of this node?
//   neither: 401                                  kube-apiserver-kubelet-client, system:masters: yes, unasked
//
// Belongs to the agent's loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/api_client.h"
#include "sys/http.h"

namespace gangway::agent {

// What is asked of the API server before a request is served: one of these is enough.
struct NodeAttributes {
  std::string verb;                       // "get", "create", …
  std::vector<std::string> subresources;  // of nodes: "stats", "metrics", "proxy", …
};
// `path` is decoded and without the query.
NodeAttributes node_attributes(std::string_view method, std::string_view path);

// The subject that the API server's client certificate for kubelets has.
inline constexpr std::string_view kKubeletClientName = "kube-apiserver-kubelet-client";

class Access {
 public:
  virtual ~Access() = default;
  // Answers once, at once or later: kUnauthorized, kForbidden, or kServiceUnavailable when nobody can be asked.
  virtual void check(const sys::HttpRequest& request, std::string_view path,
                     std::function<void(Result<void>)> done) = 0;
};

class DelegatedAccess final : public Access {
 public:
  DelegatedAccess(client::ApiClient& api, std::string node) : api_(api), node_(std::move(node)) {}
  void check(const sys::HttpRequest& request, std::string_view path, std::function<void(Result<void>)> done) override;

 private:
  struct User {
    std::string name;
    std::string uid;
    std::vector<std::string> groups;
  };
  struct Question;
  using Asked = std::shared_ptr<Question>;

  void review_token(const Asked& question, std::string_view token);
  void authorize(const Asked& question);

  client::ApiClient& api_;
  const std::string node_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
