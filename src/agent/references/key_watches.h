// KeyWatches: the config maps and secrets that the pods of one node name, each watched by itself: a node may see those
// and no others. Belongs to the client's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/pod/references.h"
#include "agent/references/named_objects.h"
#include "client/informer.h"
#include "sys/event_loop.h"

namespace gangway::agent {

class KeyWatches {
 public:
  // `on_change` runs for every pod that names what has changed.
  KeyWatches(client::ApiClient& client, sys::EventLoop& loop,
             std::function<void(const std::string& pod_uid)> on_change);

  void hold(const std::string& pod_uid, const NamedKeys& keys);
  void release(const std::string& pod_uid, const NamedKeys& keys);
  Looked<KeyValues> get(const NamedKeys& keys) const;

  std::size_t size() const { return watches_.size(); }

 private:
  struct Watch {
    std::unique_ptr<client::Informer> informer;
    std::unique_ptr<sys::Subscription> subscription;
    std::set<std::string> users;  // uids
    KeyValues values;
    bool exists = false;
  };

  void changed(const NamedKeys& keys);

  client::ApiClient& client_;
  sys::EventLoop& loop_;
  std::function<void(const std::string&)> on_change_;
  std::map<NamedKeys, Watch> watches_;
};

// The keys of a config map or a secret with their bytes.
KeyValues read_key_values(const json::Value& object, KeyHolder in);

}  // namespace gangway::agent
