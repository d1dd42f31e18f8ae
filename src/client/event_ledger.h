// EventLedger: which Events are worth writing, and under which names. Decides only; EventWriter writes.
//
//   equal events              ─► one object, counted
//   many of one reason        ─► from the tenth different message on, one object "(combined from similar events): …"
//   many about one subject    ─► after 25, one in five minutes
//
// Remembers the subjects it was asked about last; what it has forgotten begins again under a new name. One thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "client/action.h"

namespace gangway::client {

// One Event as it should be now.
struct EventEntry {
  api::ObjectName name;
  EventSubject about;
  EventType type = EventType::kNormal;
  std::string reason;
  std::string message;
  std::int64_t count = 1;
  WallTime first;
  WallTime last;
};

class EventLedger {
 public:
  explicit EventLedger(std::string component, std::size_t max_subjects = 4096)
      : component_(std::move(component)), max_subjects_(max_subjects) {}

  // None when the subject's budget is used up; it is counted all the same.
  std::optional<EventEntry> enter(const Emit& emit, WallTime now);

 private:
  using GroupKey = std::pair<EventType, std::string>;  // and the reason
  struct Group {
    std::set<std::string> messages;
    WallTime last;
  };
  struct Counted {
    std::string name;
    std::int64_t count = 0;
    WallTime first;
  };
  struct Account {
    double tokens = 0;
    WallTime filled;
    std::map<GroupKey, Group> groups;
    std::map<std::string, Counted> counted;  // by type, reason and message, or without the message when combined
    std::list<std::string>::iterator place;
  };

  Account& account_of(const EventSubject& about, WallTime now);
  // Whether the message is one too many for its group.
  static bool is_combined(Account& account, const Emit& emit, WallTime now);
  static bool take_token(Account& account, WallTime now);
  std::string name_of(const Emit& emit, std::string_view key, WallTime now) const;

  std::string component_;
  std::size_t max_subjects_;
  std::map<std::string, Account> accounts_;  // by subject
  std::list<std::string> order_;             // the one asked about last comes last
};

// The Event as the API has it. `component` is who tells.
json::Value to_json(const EventEntry& entry, const std::string& component);

}  // namespace gangway::client
