// SimClient: an ApiClient whose calls travel over a Wire to whatever server listens behind the Gate.
//
//   call ──► wire ──► server ── commit ──► wire ──► answer
//      │ refused        │ no server, killed   │ lost, late
//      │ lost, late     ▼                     ▼
//      └──► an error, or nothing until the caller has waited long enough; what was sent may land all the same
//
// Watches are streams that keep their own order, lag each for itself, break, end and expire. Fault sites: api.*,
// watch.*, crash.*. Lives on a loop of its process, which must outlive it.
#pragma once

#include <memory>

#include "apiserver/auth/user.h"
#include "client/api_client.h"
#include "sim/server_port.h"
#include "sim/wire.h"

namespace gangway::sim {

class SimClient final : public client::ApiClient {
 public:
  SimClient(Wire& wire, Gate& gate, testing::SimProcess& process, testing::SimLoop& loop, apiserver::UserInfo user);
  ~SimClient() override;

  void call(client::ApiRequest request, sys::Completion<api::Version> done) override;
  void list(client::ListRequest request, sys::Completion<client::ListAnswer> done) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> watch(client::WatchRequest request,
                                                         client::WatchCallbacks callbacks) override;

  // For a caller that must know where it stands: it waits as long as it takes, and what failed does not land later.
  void never_land_late() { side_->punctual = true; }

  static constexpr Duration kTimeout = std::chrono::seconds(30);

  // What messages on their way need of this client; it goes with the client.
  struct Side {
    Wire& wire;
    testing::SimProcess& process;
    testing::SimLoop& loop;
    const apiserver::UserInfo user;
    bool punctual = false;
  };

 private:
  // `ask` puts the question to the server's own client for this user.
  template <class Answer, class Ask>
  void exchange(std::string_view what, std::string_view detail, bool is_write, sys::Completion<Answer> done, Ask ask);

  Gate& gate_;
  std::shared_ptr<Side> side_;
};

}  // namespace gangway::sim
