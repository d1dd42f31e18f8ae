// User: somebody with kubectl. Does one thing after another, each until the server has clearly said what became of it,
// so that it is known at any time what should be there.
//
// Never killed; its requests may be lost, refused and repeated like everybody's, but what it gave up never lands later.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/api_client.h"
#include "json/value.h"
#include "sim/sim_client.h"

namespace gangway::sim {

class User {
 public:
  // `on_refused` hears of requests that no second try would mend: a mistake in a workload, or in the server.
  User(Wire& wire, Gate& gate, std::string name, std::function<void(std::string)> on_refused);

  // An object that exists already counts as created: nobody else uses the name.
  void create(const client::Resource& resource, json::Value object, sys::Task then);
  // One that does not exist counts as deleted.
  void remove(const client::Resource& resource, api::ObjectName name, const json::Value& options, sys::Task then);
  // The same for who wants to know what it was that was deleted; nothing when there was none.
  void remove_and_see(const client::Resource& resource, api::ObjectName name, const json::Value& options,
                      std::function<void(const std::optional<api::Version>&)> then);
  // Reads, changes, writes, from the start when somebody was quicker. `edit` gets the object; an object that is gone
  // stays so.
  void modify(const client::Resource& resource, api::ObjectName name, std::function<void(json::Value&)> edit,
              sys::Task then);
  // Empty when there is none.
  void read(const client::Resource& resource, api::ObjectName name, std::function<void(const api::Version&)> then);
  void wait(Duration time, sys::Task then);
  // Makes the namespace, and waits until pods may be made in it.
  void create_namespace(const std::string& ns, sys::Task then);

  testing::Random& random() { return random_; }
  const std::string& name() const { return name_; }

 private:
  using Answered = std::function<void(Result<api::Version>)>;
  // Repeats while the answer says nothing about the request itself.
  void insist(client::ApiRequest request, Answered answered);
  void await_account(const std::string& ns, sys::Task then);
  void refused(const client::ApiRequest& request, const Error& error);

  const std::string name_;
  testing::Random random_;
  testing::SimProcess process_;
  testing::SimLoop& loop_;
  SimClient client_;
  std::function<void(std::string)> on_refused_;
};

}  // namespace gangway::sim
