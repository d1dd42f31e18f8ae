// TroubleLog: says in the log what the API refused a controller, the same thing once a minute.
//
// Conflicts are no trouble: somebody else was quicker, and the next look sees what he did. Owned by the controllers'
// loop.
#pragma once

#include <map>
#include <string>

#include "client/controller.h"
#include "sys/clock.h"

namespace gangway::scheduler {

class TroubleLog final : public client::ControllerObserver {
 public:
  explicit TroubleLog(const sys::Clock& clock) : clock_(clock) {}

  void on_answer(const std::string& controller, const api::ObjectKey& key, std::string_view verb,
                 const client::ActionAnswer& answer) override;

  // Whether this is worth a line now: it was not said within the last minute. Remembers that it was asked.
  bool is_news(const std::string& what);

  static constexpr Duration kRepeatAfter = std::chrono::minutes(1);

 private:
  const sys::Clock& clock_;
  std::map<std::string, MonoTime> said_;
};

}  // namespace gangway::scheduler
