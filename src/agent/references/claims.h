// Claims: where on this machine the claims of a node's pods are. Asked for one by one until they are bound: a node may
// get its pods' claims and volumes, and not watch them. Belongs to the client's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/pod/references.h"
#include "client/api_client.h"
#include "sys/event_loop.h"

namespace gangway::agent {

class Claims {
 public:
  Claims(client::ApiClient& client, sys::EventLoop& loop, std::function<void(const std::string& pod_uid)> on_change);
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  void hold(const std::string& pod_uid, const api::ObjectName& claim);
  void release(const std::string& pod_uid, const api::ObjectName& claim);
  Looked<ClaimedPath> get(const api::ObjectName& claim) const;

 private:
  struct Held {
    std::set<std::string> users;  // uids
    Looked<ClaimedPath>::State state = Looked<ClaimedPath>::State::kUnknown;
    ClaimedPath path;
    sys::TimerId timer = sys::TimerId::kNone;
  };

  void ask_claim(const api::ObjectName& claim);
  void ask_volume(const api::ObjectName& claim, const std::string& volume);
  void settle(const api::ObjectName& claim, Looked<ClaimedPath>::State state, ClaimedPath path);

  client::ApiClient& client_;
  sys::EventLoop& loop_;
  std::function<void(const std::string&)> on_change_;
  std::map<api::ObjectName, Held> held_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

// The directory of a PersistentVolume that is one of this machine, or why it is none.
ClaimedPath read_volume_path(const json::Value& volume);

}  // namespace gangway::agent
