// Fence: what a new leader does about the bindings of one who was lost and may still have some on the way.
//
// A binding succeeds only while its pod is at the revision that it was decided on. So every pod that waits and has not
// changed since the term began is written to once; when the mirror shows that, no older binding can take room that is
// given to somebody else. Owned by the loop of the Scheduler.
#pragma once

#include <string>
#include <vector>

#include "api/object.h"
#include "client/view.h"
#include "json/value.h"

namespace gangway::scheduler {

class Fence {
 public:
  // `term_began`: the revision of the write that began it.
  void raise(api::Revision term_began) { term_began_ = term_began; }

  // Those that must still be written to: none are left once it is closed, and then it stays so.
  std::vector<api::Version> still_open(const client::View& view, const std::string& scheduler_name);

  // The body of a status patch that says when somebody looked, and with that changes the revision.
  static json::Value mark(const api::Version& pod, WallTime now);

 private:
  api::Revision term_began_ = 0;  // 0: it is closed
};

}  // namespace gangway::scheduler
