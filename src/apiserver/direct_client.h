// DirectClient: an ApiClient to the server in this process. No bytes, no sockets, the same rules.
//
// Each call takes the full path of a request (authorisation, review, commit) as the named user. Objects are the store's
// own versions, shared, not copied: of a kind whose versions differ in fields they are in the stored one, so that is
// the one to speak. Belongs to the loop it is given, on which all answers arrive.
#pragma once

#include <memory>
#include <string>

#include "apiserver/auth/user.h"
#include "apiserver/server.h"
#include "client/api_client.h"

namespace gangway::apiserver {

class DirectClient final : public client::ApiClient {
 public:
  // `server` and `store` must outlive the client.
  DirectClient(ApiServer& server, store::Store& store, sys::EventLoop& loop, UserInfo user);

  void call(client::ApiRequest request, sys::Completion<api::Version> done) override;
  void list(client::ListRequest request, sys::Completion<client::ListAnswer> done) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> watch(client::WatchRequest request,
                                                         client::WatchCallbacks callbacks) override;

 private:
  CallPtr new_call(const client::Resource& resource, std::string verb) const;

  ApiServer& server_;
  store::Store& store_;
  sys::EventLoop& loop_;
  const UserInfo user_;
};

}  // namespace gangway::apiserver
