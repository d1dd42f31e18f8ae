#include "scheduler/trouble_log.h"

#include <fmt/format.h>

#include "sys/log.h"

namespace gangway::scheduler {

bool TroubleLog::is_news(const std::string& what) {
  const MonoTime now = clock_.mono();
  std::erase_if(said_, [&](const auto& entry) { return entry.second + kRepeatAfter <= now; });
  return said_.emplace(what, now).second;
}

void TroubleLog::on_answer(const std::string& controller, const api::ObjectKey&, std::string_view verb,
                           const client::ActionAnswer& answer) {
  if (answer.result) return;
  const Error& error = answer.result.error();
  switch (error.reason) {
    case Reason::kConflict:
    case Reason::kNotFound:
    case Reason::kAlreadyExists:
      return;
    default:
      break;
  }
  // By kind of trouble: a thousand pods that cannot be bound for one reason are one line.
  if (!is_news(fmt::format("{} {} {} {}", controller, verb, answer.resource.plural, to_string(error.reason)))) return;
  sys::log_warning("the API refused a write; it is tried again",
                   {{"controller", controller},
                    {"verb", verb},
                    {"resource", answer.resource.plural},
                    {"object", answer.object.ns + "/" + answer.object.name},
                    {"error", error.message}});
}

}  // namespace gangway::scheduler
