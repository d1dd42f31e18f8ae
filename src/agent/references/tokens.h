// Tokens: the service-account tokens of a node's pods, asked for when a pod needs one and renewed at four fifths of its
// life. Bound to the pod: they end with it. Belongs to the client's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "agent/pod/references.h"
#include "agent/references/named_objects.h"
#include "client/api_client.h"
#include "sys/event_loop.h"

namespace gangway::agent {

class Tokens {
 public:
  // `on_change` runs for the pod whose token has come or was renewed.
  Tokens(client::ApiClient& client, sys::EventLoop& loop, std::function<void(const std::string& pod_uid)> on_change);
  ~Tokens();
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  void hold(const PodIdentity& pod, const NamedToken& token);
  void release(const std::string& pod_uid, const NamedToken& token);
  Looked<std::string> get(const std::string& pod_uid, const NamedToken& token) const;

 private:
  using Key = std::pair<std::string, NamedToken>;  // and the pod's uid first
  struct Held {
    PodIdentity pod;
    std::string token;
    std::string error;
    unsigned failures = 0;
    sys::TimerId timer = sys::TimerId::kNone;
  };

  void ask(const Key& key);
  void answered(const Key& key, const Result<api::Version>& answer);
  void ask_after(const Key& key, Duration delay);

  client::ApiClient& client_;
  sys::EventLoop& loop_;
  std::function<void(const std::string&)> on_change_;
  std::map<Key, Held> held_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

// How long a token is used before the next is asked for.
Duration renew_after(Duration life);

}  // namespace gangway::agent
