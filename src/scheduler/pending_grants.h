// PendingGrants: Allotments that are being written or closed, and that the mirror does not show yet. Owned by one loop.
//
//   grant ──► asked for ─┬─ shown, or refused ──────────────────────────────────────► over
//              ▲         └─ its answer is lost, or the mirror is late: in doubt ─┐
//              └──────────────────── asked for again ────────────────────────────┘
//   close: holds nothing for us any more. What was asked for before may still come to be, so it is a promise for
//   everybody else until the mirror shows what became of it. In doubt, a grant of nothing is asked for in its place:
//   whichever of the two comes first keeps the other from coming to be.
//
// A write names the revision that it was decided on: once the object has left it, the object itself says what became of
// it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/action.h"
#include "client/view.h"
#include "scheduler/allotment.h"

namespace gangway::scheduler {

class PendingGrants {
 public:
  using Facts = std::shared_ptr<const AllotmentFacts>;
  using Write = std::pair<api::ObjectName, client::Action>;

  // `write` grants `facts`, decided on a revision of the Allotment (0: there was none). Where something else is being
  // written to it, it is not asked for now: take_lost() has it later.
  void grant(const api::ObjectName& name, api::Revision revision, Facts facts, client::Action write, bool is_asked);
  void close(const api::ObjectName& name);

  // Nothing: the mirror is right. Null: it is being closed.
  std::optional<Facts> find(const api::ObjectName& name) const;
  bool is_being_granted(const api::ObjectName& name) const;
  // An earlier grant of it is given up, and nobody knows yet what became of that.
  bool has_given_up(const api::ObjectName& name) const;
  // Grants that are given up, and may be there for others to read.
  std::vector<std::pair<api::ObjectName, Facts>> given_up() const;
  // Calls `call` with each grant that is being written.
  void for_each(const std::function<void(const api::ObjectName&, const AllotmentFacts&)>& call) const;

  // A write has failed: nothing was done, or nobody knows. The gang whose it was, if that is decided anew.
  Facts failed(const api::ObjectName& name, bool is_certain);
  // What is to be asked for again, once, for gangs that are still there.
  using IsThere = std::function<bool(const api::ObjectName& name, const AllotmentFacts& facts)>;
  std::vector<Write> take_lost(const client::View& view, const IsThere& is_there);
  // Forgets what the mirror shows.
  void settle(const client::View& view);

 private:
  struct Entry {
    api::Revision revision = 0;
    Facts facts = {};                          // null: it is to be closed
    std::vector<Facts> given_up = {};          // asked for earlier, on the same revision
    std::optional<client::Action> write = {};  // of the facts, or of nothing where there are none
    bool is_asked = false;                     // ever
    bool is_lost = false;                      // is to be asked for, once more or for the first time
    bool is_in_doubt = false;                  // an answer was lost: what was asked for may still come to be
  };
  static Entry replacing(const Entry* before, api::Revision revision);
  static bool settles(const client::View& view, const api::ObjectName& name, Entry& entry);
  const Entry* entry_of(const api::ObjectName& name) const;

  std::map<api::ObjectName, Entry> entries_;
};

}  // namespace gangway::scheduler
