#include "agent/pod/machine.h"

#include <algorithm>

#include "agent/pod/deciding.h"
#include "agent/pod/devices.h"
#include "agent/pod/status.h"

namespace gangway::agent {
namespace {

// Even a pod that must go at once gets this long.
constexpr Duration kLeastGrace = std::chrono::seconds(1);

void begin_ending(const Look& look, Ending::Cause cause, Duration grace, std::string reason = {},
                  std::string message = {}) {
  look.record().ending = Ending{cause, std::move(reason), std::move(message), look.now(), look.now() + grace};
}

bool wants_to_continue_alone(const PodSpec& spec) {
  const auto choice = spec.annotations.find("gangway.dev/on-lost-contact");
  return choice != spec.annotations.end() && choice->second == "Continue";
}

// The node's admission speaks once; what it said is in the record.
void judge_once(const Look& look) {
  PodRecord& record = look.record();
  const PodSpec* spec = look.view.spec;
  if (record.judged || spec == nullptr || look.view.gone || look.view.halt != Halt::kNone) return;
  record.judged = true;
  record.pod = spec->pod;
  record.started_at = look.now();
  record.grace = spec->grace;
  record.continues_alone = wants_to_continue_alone(*spec);
  if (!spec->says_scheduled) record.scheduled_since = look.now();
  // It ended before there was a record of it: there is nothing to do and nothing to say.
  if (spec->has_ended) {
    begin_ending(look, Ending::Cause::kFinished, Duration::zero());
    record.released = true;
    return;
  }
  for (const PodContainer& container : spec->containers) {
    ContainerRecord& added = record.containers.emplace_back();
    added.name = container.name;
  }
  if (spec->deletion) return;
  if (auto refusal = judge(*spec, look.view.room)) {
    look.step.events.push_back(event_of(nullptr, true, refusal->reason, refusal->message));
    begin_ending(look, Ending::Cause::kRefused, Duration::zero(), refusal->reason, refusal->message);
    return;
  }
  record.requests = spec->requests;
  record.requests["pods"] = 1;
  if (auto gpus = assign_gpus(*spec, look.view.room.gpus, look.view.room.gpus_in_use)) record.gpus = std::move(*gpus);
}

// Some would rather run twice than not at all.
bool continues_alone(const PodView& view) {
  if (view.halt != Halt::kFenced) return false;
  return view.spec != nullptr ? wants_to_continue_alone(*view.spec) : view.record.continues_alone;
}

void note_deletion(const Look& look) {
  const PodSpec* spec = look.view.spec;
  PodRecord& record = look.record();
  const bool deleted = spec != nullptr && spec->deletion;
  if (!deleted && !look.view.gone) return;
  const Duration grace = std::max(deleted ? spec->deletion->grace : record.grace, kLeastGrace);
  if (!record.ending) begin_ending(look, look.view.gone ? Ending::Cause::kGone : Ending::Cause::kDeleted, grace);
  // A later deletion may leave less time, never more.
  record.ending->kill_at = std::min(record.ending->kill_at, look.now() + grace);
}

void note_deadline(const Look& look) {
  const PodSpec* spec = look.view.spec;
  if (look.record().ending || spec == nullptr || !spec->active_deadline) return;
  const WallTime deadline = look.record().started_at + *spec->active_deadline;
  if (look.now() < deadline) return look.step.look_again(deadline);
  const char* message = "Pod was active on the node longer than the specified deadline";
  look.step.events.push_back(event_of(nullptr, false, "DeadlineExceeded", message));
  begin_ending(look, Ending::Cause::kDeadline, spec->grace, "DeadlineExceeded", message);
}

void note_finish(const Look& look) {
  const PodSpec* spec = look.view.spec;
  if (look.record().ending || spec == nullptr || !is_finished(*spec, look.record())) return;
  begin_ending(look, Ending::Cause::kFinished, spec->grace);
}

void conclude(const Look& look) {
  PodRecord& record = look.record();
  const PodSpec* spec = look.view.spec;
  if (look.view.gone) {
    look.step.forget = record.released || !record.judged;
    return;
  }
  if (spec == nullptr) return;
  look.step.delete_object = spec->deletion && record.released;
  if (!record.judged) return;
  update_marks(*spec, record, look.step.facts, look.now());
  look.step.status = status_of(*spec, record, look.step.facts, look.view.node, look.now());
}

}  // namespace

PodEvent event_of(const PodContainer* container, bool warning, std::string reason, std::string message) {
  PodEvent event{warning, std::move(reason), std::move(message), {}, false};
  if (container != nullptr) {
    event.container = container->name;
    event.init = container->role != ContainerRole::kMain;
  }
  return event;
}

PodStep decide(const PodView& given) {
  PodView view = given;
  if (continues_alone(view)) view.halt = Halt::kNone;
  PodStep step;
  step.record = view.record;
  step.facts = view.facts;
  const Look look{view, step};
  judge_once(look);
  if (step.record.judged && !step.record.released) {
    note_deletion(look);
    note_deadline(look);
    note_finish(look);
    remove_exited(look);
    if (step.record.ending || view.halt != Halt::kNone) {
      stop_pod(look);
    } else if (view.spec != nullptr) {
      run_pod(look);
    }
  }
  conclude(look);
  return step;
}

}  // namespace gangway::agent
