#include "scheduler/flight/flight_recorder.h"

#include <functional>
#include <string_view>
#include <utility>

#include "scheduler/flight/line_writer.h"

namespace gangway::scheduler::flight {
namespace {

using planning::kNone;

// The same while everybody waits for the same reason; never written down, so any hash will do.
std::size_t hash_of_reasons(const planning::Snapshot& snapshot, const planning::Plan& plan) {
  std::size_t hash = plan.verdicts.size();
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29); };
  const auto mix_text = [&](std::string_view text) { mix(std::hash<std::string_view>()(text)); };
  const auto mix_gang = [&](planning::GangId id) {
    mix_text(snapshot.gangs[id].ns);
    mix_text(snapshot.gangs[id].name);
  };
  for (const planning::Verdict& verdict : plan.verdicts) {
    mix_gang(verdict.gang);
    mix(static_cast<std::size_t>(verdict.code));
    mix_text(verdict.message);
    for (const planning::GangId blocker : verdict.blockers) mix_gang(blocker);
    for (const std::string& protection : verdict.protections) mix_text(protection);
  }
  if (plan.reservation) {
    mix_gang(plan.reservation->gang);
    for (const planning::Placement& place : plan.reservation->places) mix_text(snapshot.nodes[place.node].name);
  }
  return hash;
}

std::string frame_of(const Cycle& cycle) {
  std::string line;
  LineWriter out(line);
  out.fields(frame_text(cycle.snapshot.now, cycle.policies, cycle.budget));
  if (!cycle.basis.empty()) {
    out.object("basis", [&] {
      for (const auto& [resource, revision] : cycle.basis) out.text(resource, std::to_string(revision));
    });
  }
  out.list("broken", cycle.broken, [&](const std::string& law) { out.item_text(law); });
  out.end();
  return line;
}

// As a line about it begins.
std::string key_for(std::string_view kind, std::string_view name) {
  std::string line;
  LineWriter out(line);
  out.text(kind, name);
  return std::string(key_of(line));
}

}  // namespace

Entry EntryMaker::make(const Cycle& cycle, const Changes& changes) {
  const planning::Snapshot& snapshot = cycle.snapshot;
  Entry entry;
  entry.frame = frame_of(cycle);
  entry.changed.reserve(changes.nodes.size() + changes.pods.size() + changes.groups.size());
  for (const auto& [name, id] : changes.nodes) {
    if (id == kNone) {
      entry.gone.push_back(key_for("node", name));
    } else {
      entry.changed.push_back(encoder_.node(snapshot, snapshot.nodes[id]));
    }
  }
  for (const auto& [name, id] : changes.pods) {
    if (id == kNone) {
      entry.gone.push_back(key_for("pod", name.ns + "/" + name.name));
    } else {
      entry.changed.push_back(encoder_.pod(snapshot, snapshot.pods[id]));
    }
  }
  for (const auto& [name, id] : changes.groups) {
    if (id == kNone) {
      entry.gone.push_back(key_for("group", name.ns + "/" + name.name));
    } else {
      entry.changed.push_back(encoder_.group(snapshot, snapshot.gangs[id]));
    }
  }
  if (changes.budgets) add_budgets(cycle, entry);
  entry.plan = lines_of(snapshot, cycle.plan);
  return entry;
}

void EntryMaker::add_budgets(const Cycle& cycle, Entry& entry) {
  std::set<std::string> now;
  for (const planning::DisruptionBudget& budget : cycle.snapshot.budgets) {
    entry.changed.push_back(encoder_.budget(budget));
    now.emplace(key_of(entry.changed.back()));
  }
  for (const std::string& key : budgets_)
    if (!now.contains(key)) entry.gone.push_back(key);
  budgets_ = std::move(now);
}

bool FlightRecorder::wants(const Cycle& cycle) {
  const std::size_t reasons = hash_of_reasons(cycle.snapshot, cycle.plan);
  const bool is_decision = !cycle.plan.tickets.empty() || !cycle.plan.taken_back.empty() || !cycle.broken.empty();
  if (!is_decision && reasons == last_reasons_) return false;
  if (!log_.has_room()) return false;
  last_reasons_ = reasons;
  return true;
}

void FlightRecorder::record(const Cycle& cycle, const Changes& changes) {
  log_.add(maker_.make(cycle, changes));
}

}  // namespace gangway::scheduler::flight
