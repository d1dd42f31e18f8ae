// StatusWriter: carries pods' statuses to the API, and their objects' end. At most one write a pod is under way; of
// several wishes the newest counts; what cannot be written is tried for ever, until the pod is gone.
//
//   wish ─► waiting ─► under way ─┬─► delivered
//             ▲ a newer one, or   │
//             └ after back-off ◄──┘ failed
//
// Owned by the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/runtime_types.h"
#include "client/api_client.h"
#include "client/work_queue.h"
#include "sys/event_loop.h"

namespace gangway::agent {

class StatusWriter {
 public:
  struct Options {
    // How long a status waits for what is about to change it; a pod that starts is one write, not five.
    Duration hold = std::chrono::milliseconds(20);
    std::size_t max_under_way = 64;
    std::string field_manager = "kubelet";
  };
  // The pod has this status as of that revision.
  using OnDelivered = std::function<void(const std::string& pod_uid, api::Revision)>;

  StatusWriter(sys::EventLoop& loop, Options options, OnDelivered on_delivered);
  StatusWriter(const StatusWriter&) = delete;
  StatusWriter& operator=(const StatusWriter&) = delete;

  // `status`: a strategic merge patch of the pod's status. `settled`: nothing is about to change it. `known`: the
  // newest revision of the pod that is known. A write that was given up may arrive long after: it names the revision
  // that it is about, so that it does not undo what came later.
  void write(client::ApiClient& client, const PodIdentity& pod, std::string status, bool settled, api::Revision known);
  // Deletes the object, after its last status is delivered.
  void remove(client::ApiClient& client, const PodIdentity& pod);
  // The pod is gone: nobody wants its status any more.
  void forget(const std::string& pod_uid);

  // Whether something about this pod is yet to be told, or answered.
  bool is_pending(const std::string& pod_uid) const { return entries_.contains(pod_uid); }
  std::size_t pending() const { return entries_.size(); }

 private:
  struct Entry {
    client::ApiClient* client = nullptr;
    PodIdentity pod;
    std::optional<std::string> status;
    api::Revision known = 0;
    bool must_read = false;  // somebody else has written: which revision is it now?
    bool remove = false;
    bool under_way = false;
  };

  void pump();
  void send(const std::string& uid, Entry& entry);
  void read(const std::string& uid, Entry& entry);
  void on_read(const std::string& uid, std::optional<std::string> status, Result<api::Version> answer);
  void answered(const std::string& uid, std::optional<std::string> status, Result<api::Version> answer);
  void settle(const std::string& uid);

  Options options_;
  OnDelivered on_delivered_;
  client::WorkQueue queue_;
  std::map<std::string, Entry> entries_;  // by uid
  std::size_t under_way_ = 0;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
