#include "scheduler/suite.h"

#include <utility>

namespace gangway::scheduler {

client::ControllerOptions busy_controller(std::string name) {
  client::ControllerOptions options;
  options.name = std::move(name);
  options.restless_looks = 1'000'000;
  options.queue.longest_retry = std::chrono::seconds(1);
  return options;
}

Suite::Suite(const SuiteParts& parts) : scheduler_(parts.scheduler_name, parts.cycles, parts.claims) {
  members_.push_back(member(parts, busy_controller(parts.scheduler_name), scheduler_));
  members_.push_back(member(parts, {.name = kRequeueing}, requeuer_));
  members_.push_back(member(parts, {.name = kAccounting}, accountant_));
}

Suite::Member Suite::member(const SuiteParts& parts, client::ControllerOptions options,
                            const client::Reconciler& mind) {
  Member made;
  made.client = parts.connect(options.name);
  made.controller = std::make_unique<client::Controller>(*made.client, parts.loop, parts.mirror, mind,
                                                         std::move(options), nullptr, parts.observer);
  return made;
}

void Suite::schedule(const client::LeaderLease& term) {
  if (term.has_taken_over()) {
    scheduler_.take_over(term.epoch(), term.term_began());
  } else {
    scheduler_.lead(term.epoch());
  }
  scheduling().start();
}

std::vector<const client::Controller*> Suite::controllers() const {
  std::vector<const client::Controller*> all;
  for (const Member& entry : members_) all.push_back(entry.controller.get());
  return all;
}

}  // namespace gangway::scheduler
