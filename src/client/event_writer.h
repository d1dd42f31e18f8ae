// EventWriter: writes Events, as well as it can. What it decides is the EventLedger's business.
//
// Nobody waits for it and nothing is tried twice: an Event that cannot be written is lost, and the next equal one says
// how many there were. Owned by the client's loop.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "client/api_client.h"
#include "client/event_ledger.h"
#include "sys/event_loop.h"

namespace gangway::client {

class EventWriter {
 public:
  // `component` is who tells: the name of a controller. Also the field manager.
  EventWriter(ApiClient& client, sys::EventLoop& loop, std::string component);
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // `happened`: when that was, if not now.
  void write(const Emit& emit, std::optional<WallTime> happened = {});

  std::size_t pending() const { return waiting_.size() + under_way_.size(); }

 private:
  void pump();
  void send(const EventEntry& entry, bool exists);
  void answered(const EventEntry& entry, bool exists, const Result<api::Version>& answer);

  ApiClient& client_;
  sys::EventLoop& loop_;
  std::string component_;
  EventLedger ledger_;
  std::deque<api::ObjectName> order_;
  std::map<api::ObjectName, EventEntry> waiting_;  // the newest state of each
  std::set<api::ObjectName> under_way_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::client
