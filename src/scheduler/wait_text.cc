#include "scheduler/wait_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scheduler/describe.h"

namespace gangway::scheduler {
namespace {

constexpr std::size_t kNamed = 8;
constexpr std::size_t kPlacesListed = 20;
constexpr std::int64_t kHighestUserPriority = 1'000'000'000;

std::string ordinal(std::size_t number) {
  const bool is_teen = number % 100 >= 11 && number % 100 <= 13;
  const char* ending = is_teen            ? "th"
                       : number % 10 == 1 ? "st"
                       : number % 10 == 2 ? "nd"
                       : number % 10 == 3 ? "rd"
                                          : "th";
  return fmt::format("{}{}", number, ending);
}

class WaitText {
 public:
  WaitText(const WaitReport& wait, WallTime now) : wait_(wait), now_(now) {}

  std::string run() {
    tell_head();
    switch (wait_.code) {
      case WaitReport::Code::kHasRoom:
        line("There is room for it: the scheduler's next look puts {}.", places_text(wait_.places));
        break;
      case WaitReport::Code::kWaitsForVictims:
        line("It has its place ({}) and starts when these have ended: {}.", places_text(wait_.places),
             list_of(wait_.leaving));
        break;
      case WaitReport::Code::kGangIncomplete:
        line("It cannot start yet: {}.", wait_.message);
        break;
      case WaitReport::Code::kUnschedulable:
        tell_shortage();
        break;
    }
    tell_start();
    tell_changes();
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += "  " + fmt::format(format, std::forward<Arguments>(arguments)...) + "\n";
  }

  void tell_head() {
    text_ += fmt::format("{} {} has waited for {} (priority {}", wait_.gang.kind, wait_.gang.full(),
                         human_duration(now_ - wait_.since), wait_.priority);
    if (wait_.in_line > 1) text_ += fmt::format(", {} of {} in line", ordinal(wait_.position), wait_.in_line);
    text_ += ").\n";
    if (wait_.gang.kind == "PodGroup") {
      line("Of its pods {} run and {} wait ({}); it needs {} to start.", wait_.running, wait_.pods.size(),
           list_of(wait_.pods), wait_.min_members);
    } else if (wait_.pods.size() > 1) {
      line("The same holds for {}.", list_of({wait_.pods.begin() + 1, wait_.pods.end()}));
    }
    if (!wait_.ahead.empty()) {
      const std::size_t more = wait_.position - 1 - wait_.ahead.size();
      line("Before it in line: {}{}.", fmt::join(wait_.ahead, ", "),
           more == 0 ? std::string() : fmt::format(" and {} more", more));
    }
  }

  void tell_shortage() {
    line("It needs {} on one node{}.", wait_.needs, wait_.gang.kind == "PodGroup" ? ", for each pod" : "");
    line("{}", wait_.message.substr(0, wait_.message.find(" preemption: ")));
    if (wait_.nearest.empty()) {
      line("No node takes it, however empty it were.");
    } else if (!wait_.lacks.empty()) {
      line("The nearest is {}, which lacks {}{}", wait_.nearest, wait_.lacks,
           wait_.holders.empty() ? "." : ". The room there is held by:");
      for (const Holder& holder : wait_.holders) tell(holder);
    }
    if (!wait_.room_kept_for.empty()) line("Room is kept for {}, which is before it in line.", wait_.room_kept_for);
  }

  void tell(const Holder& holder) {
    std::string ends;
    if (holder.ends) ends = fmt::format(", ends within {}", human_duration(*holder.ends - now_));
    line("  {} ({}, priority {}, for {}{}): {}.", holder.gang.full(),
         size_text(holder.gpus, static_cast<std::size_t>(holder.pods)), holder.priority,
         human_duration(now_ - holder.since), ends,
         holder.why_not.empty() ? "it may be preempted, but that would not make enough room"
                                : "not preempted, " + holder.why_not);
  }

  void tell_start() {
    if (!wait_.starts) return;
    line("It is the first in line: it starts at {} ({}) at the latest.", to_rfc3339(*wait_.starts),
         *wait_.starts <= now_ ? "now" : "in " + human_duration(*wait_.starts - now_));
  }

  void tell_changes() {
    const bool asks = wait_.code == WaitReport::Code::kUnschedulable || wait_.code == WaitReport::Code::kGangIncomplete;
    if (!asks) return;
    if (wait_.changes.empty()) return line("No small change was found that would let it run.");
    line("The smallest change that lets it run:");
    for (std::size_t i = 0; i < wait_.changes.size(); ++i) {
      if (i == 1) line("Others that would:");
      const ChangeReport& change = wait_.changes[i];
      line("  {}{}", change.text,
           change.granted.preempts.empty() ? std::string()
                                           : fmt::format(" (it then preempts {})", list_of(change.granted.preempts)));
    }
  }

  const WaitReport& wait_;
  WallTime now_;
  std::string text_;
};

std::string what_is_lost(const RunReport& run) {
  if (run.is_elastic && run.on_preempt == planning::OnPreempt::kShrink)
    return "It would give up members above its minimum, and go on.";
  std::string how = run.on_preempt == planning::OnPreempt::kRequeue ? "All of it would be stopped and queued again"
                                                                    : "The pods in the way would be stopped";
  if (run.lost_gpu_seconds > 0)
    how += fmt::format("; {:.1f} GPU-minutes of work would be lost", static_cast<double>(run.lost_gpu_seconds) / 60);
  return how + ".";
}

const char* code_text(WaitReport::Code code) {
  switch (code) {
    case WaitReport::Code::kUnschedulable:
      return "Unschedulable";
    case WaitReport::Code::kGangIncomplete:
      return "GangIncomplete";
    case WaitReport::Code::kWaitsForVictims:
      return "WaitsForVictims";
    case WaitReport::Code::kHasRoom:
      return "HasRoom";
  }
  return "";
}

}  // namespace

std::string list_of(const std::vector<std::string>& names) {
  if (names.size() <= kNamed) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{}, … ({} in all)", fmt::join(names.begin(), names.begin() + kNamed, ", "), names.size());
}

std::string places_text(const std::vector<std::pair<std::string, std::string>>& places) {
  std::vector<std::string> parts;
  for (const auto& [pod, node] : places) parts.push_back(fmt::format("{} on {}", pod, node));
  return list_of(parts);
}

json::Array array_of(const std::vector<std::string>& texts) {
  json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

json::Array places_json(const std::vector<std::pair<std::string, std::string>>& places) {
  json::Array array;
  for (const auto& [pod, node] : places) array.push_back(json::Object{{"pod", pod}, {"node", node}});
  return array;
}

json::Object name_json(const GangName& name) {
  return {{"kind", name.kind}, {"namespace", name.ns}, {"name", name.name}};
}

std::string to_text(const WaitReport& wait, WallTime now) {
  return WaitText(wait, now).run();
}

std::string to_text(const RunReport& run, WallTime now) {
  std::string text;
  const std::size_t count = run.places.size();
  if (count > 1)
    text = run.gang.kind == "PodGroup"
               ? fmt::format("PodGroup {} runs {} pods (priority {}):\n", run.gang.full(), count, run.priority)
               : fmt::format("{} pods run (priority {}):\n", count, run.priority);
  for (std::size_t i = 0; i < std::min(count, kPlacesListed); ++i) {
    const RunReport::Place& place = run.places[i];
    std::string when = fmt::format("since {} ({})", to_rfc3339(place.since), human_duration(now - place.since));
    if (place.ends) when += fmt::format(", until {} at the latest", to_rfc3339(*place.ends));
    if (place.is_ending) when += ", is ending";
    text += count == 1 ? fmt::format("Pod {}/{} runs on {} {} (priority {}).\n", run.gang.ns, place.pod, place.node,
                                     when, run.priority)
                       : fmt::format("  {} on {} {}\n", place.pod, place.node, when);
  }
  if (count > kPlacesListed) text += fmt::format("  and {} more\n", count - kPlacesListed);
  if (!run.promised_to.empty())
    text += fmt::format("  Its room is promised to {}: it is preempted.\n", run.promised_to);
  std::vector<std::string> classes;
  for (const PriorityClass& one : run.above) classes.push_back(fmt::format("{} ({})", one.name, one.value));
  text += classes.empty()
              ? fmt::format("  No priority class that preempts is above {}.\n", run.priority)
              : fmt::format("  Pods of these classes may preempt it: {}. {}\n", list_of(classes), what_is_lost(run));
  if (!run.protection.empty()) {
    text += fmt::format("  For now it is left alone by {}: {}{}.\n",
                        run.top_priority > kHighestUserPriority ? std::string("everybody")
                                                                : fmt::format("all below {}", run.top_priority),
                        run.protection,
                        run.protected_until ? ", until " + to_rfc3339(*run.protected_until) : std::string());
  } else if (run.preempted > 0) {
    text += fmt::format("  It was preempted {} of {} times that are allowed in an hour.\n", run.preempted,
                        run.max_preemptions);
  }
  for (const std::string& budget : run.budgets)
    text += fmt::format("  Disruption budget {}: others are taken first where there is a choice.\n", budget);
  return text;
}

json::Object to_document(const WaitReport& wait) {
  json::Array holders;
  for (const Holder& holder : wait.holders) {
    json::Object object = name_json(holder.gang);
    object["gpus"] = holder.gpus;
    object["pods"] = holder.pods;
    object["priority"] = holder.priority;
    object["since"] = to_rfc3339(holder.since);
    if (holder.ends) object["ends"] = to_rfc3339(*holder.ends);
    if (!holder.why_not.empty()) object["notPreemptedBecause"] = holder.why_not;
    holders.push_back(std::move(object));
  }
  json::Array changes;
  for (const ChangeReport& change : wait.changes)
    changes.push_back(json::Object{{"text", change.text},
                                   {"steps", change.steps},
                                   {"places", places_json(change.granted.places)},
                                   {"preempts", array_of(change.granted.preempts)}});
  json::Object object = name_json(wait.gang);
  object["pods"] = array_of(wait.pods);
  object["running"] = wait.running;
  object["minMember"] = wait.min_members;
  object["priority"] = wait.priority;
  object["since"] = to_rfc3339(wait.since);
  object["position"] = wait.position;
  object["inLine"] = wait.in_line;
  object["ahead"] = array_of(wait.ahead);
  object["code"] = code_text(wait.code);
  object["message"] = wait.message;
  object["needs"] = wait.needs;
  object["nearestNode"] = wait.nearest;
  object["lacks"] = wait.lacks;
  object["holders"] = std::move(holders);
  object["roomKeptFor"] = wait.room_kept_for;
  if (wait.starts) object["startsAtTheLatest"] = to_rfc3339(*wait.starts);
  object["places"] = places_json(wait.places);
  object["waitsFor"] = array_of(wait.leaving);
  object["changes"] = std::move(changes);
  return object;
}

json::Object to_document(const RunReport& run) {
  json::Array places;
  for (const RunReport::Place& place : run.places) {
    json::Object object{
        {"pod", place.pod}, {"node", place.node}, {"since", to_rfc3339(place.since)}, {"isEnding", place.is_ending}};
    if (place.ends) object["ends"] = to_rfc3339(*place.ends);
    places.push_back(std::move(object));
  }
  json::Array classes;
  for (const PriorityClass& one : run.above) classes.push_back(json::Object{{"name", one.name}, {"value", one.value}});
  json::Object object = name_json(run.gang);
  object["priority"] = run.priority;
  object["places"] = std::move(places);
  object["preemptedByClasses"] = std::move(classes);
  object["promisedTo"] = run.promised_to;
  object["protection"] = run.protection;
  if (run.protected_until) object["protectedUntil"] = to_rfc3339(*run.protected_until);
  object["preemptionsInTheLastHour"] = run.preempted;
  object["maxPreemptions"] = run.max_preemptions;
  object["lostGpuSecondsIfStopped"] = run.lost_gpu_seconds;
  object["budgets"] = array_of(run.budgets);
  return object;
}

}  // namespace gangway::scheduler
