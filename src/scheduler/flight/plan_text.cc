#include "scheduler/flight/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "json/access.h"
#include "scheduler/flight/line_writer.h"
#include "scheduler/flight/words.h"

namespace gangway::scheduler::flight {
namespace {

using namespace planning;  // NOLINT: all of its values are written here

class PlanWriter {
 public:
  explicit PlanWriter(const Snapshot& snapshot) : snapshot_(snapshot) {}

  PlanLines write(const Plan& plan) const {
    PlanLines lines;
    for (const GangId id : plan.taken_back)
      lines.steps.push_back(line([&](LineWriter& out) { out.text("takenBack", gang(id)); }));
    for (const Ticket& ticket : plan.tickets) lines.steps.push_back(line([&](LineWriter& out) { write(out, ticket); }));
    if (plan.reservation) lines.steps.push_back(line([&](LineWriter& out) { write(out, *plan.reservation); }));
    std::map<std::string, std::vector<const Verdict*>> verdicts;
    for (const Verdict& verdict : plan.verdicts) verdicts[gang(verdict.gang)].push_back(&verdict);
    for (const auto& [who, why] : verdicts) {
      std::string text = line([&](LineWriter& out) {
        out.text("waits", who);
        out.list("because", why, [&](const Verdict* verdict) { out.item([&] { write(out, *verdict); }); });
      });
      std::string key(key_of(text));
      lines.waits.emplace(std::move(key), std::move(text));
    }
    return lines;
  }

 private:
  template <class Write>
  static std::string line(Write write) {
    std::string text;
    LineWriter out(text);
    write(out);
    out.end();
    return text;
  }

  std::string gang(GangId id) const {
    if (id == kNone) return "nobody";
    const Gang& one = snapshot_.gangs[id];
    return (one.is_plain ? "pod " : "group ") + full_name(one);
  }
  std::string pod(PodId id) const { return full_name(snapshot_.pods[id]); }
  const std::string& node(NodeId id) const { return snapshot_.nodes[id].name; }

  template <class Seats>
  void write_seats(LineWriter& out, const Seats& seats) const {
    out.list("places", seats.places, [&](const Placement& place) {
      out.item([&] {
        out.text("pod", pod(place.pod));
        out.text("node", node(place.node));
      });
    });
    out.list("holds", seats.holds, [&](const Hold& hold) {
      out.item([&] {
        out.number("late", hold.late);
        out.text("node", node(hold.node));
      });
    });
  }

  void write(LineWriter& out, const Ticket& ticket) const {
    out.text("ticket", gang(ticket.gang));
    write_seats(out, ticket);
    out.list("evicts", ticket.evictions, [&](const Eviction& eviction) {
      out.item([&] {
        out.text("of", gang(eviction.gang));
        out.text("how", word_of(eviction.how));
        out.list("pods", eviction.pods, [&](PodId id) { out.item_text(pod(id)); });
      });
    });
    out.list("waitsFor", ticket.waits_for, [&](PodId id) { out.item_text(pod(id)); });
    out.list("withdraws", ticket.withdrawn, [&](GangId id) { out.item_text(gang(id)); });
    out.flag("grows", ticket.is_growth);
    out.number_unless(0, "lostGpuSeconds", ticket.lost_gpu_seconds);
  }

  void write(LineWriter& out, const Reservation& reservation) const {
    out.text("reservation", gang(reservation.gang));
    write_seats(out, reservation);
    if (reservation.starts) out.time("starts", *reservation.starts);
  }

  void write(LineWriter& out, const Verdict& verdict) const {
    out.text("code", word_of(verdict.code));
    if (verdict.pod != kNone) out.text("pod", pod(verdict.pod));
    out.text("message", verdict.message);
    if (verdict.nearest != kNone) out.text("nearest", node(verdict.nearest));
    std::map<std::string_view, std::int64_t> lacks;
    for (const auto& [id, amount] : verdict.short_by) lacks[snapshot_.resources.name_of(id)] = amount;
    out.list("shortBy", lacks, [&](const auto& lack) {
      out.item_text(fmt::format("{} {}", amount_text(lack.first == "cpu", lack.second), lack.first));
    });
    out.list("blockers", verdict.blockers, [&](GangId id) { out.item_text(gang(id)); });
    out.list("protections", verdict.protections, [&](const std::string& why) { out.item_text(why); });
  }

  const Snapshot& snapshot_;
};

std::string seats(const json::Value& step) {
  std::vector<std::string> all;
  for (const json::Value& place : json::array_at(step, {"places"}))
    all.push_back(fmt::format("{} on {}", json::string_at(place, {"pod"}), json::string_at(place, {"node"})));
  for (const json::Value& hold : json::array_at(step, {"holds"}))
    all.push_back(
        fmt::format("room for late member {} on {}", json::int_at(hold, {"late"}), json::string_at(hold, {"node"})));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string ticket_text(const json::Value& step, std::string_view who) {
  std::string text = fmt::format("{} gets {}\n", who, seats(step));
  for (const json::Value& eviction : json::array_at(step, {"evicts"}))
    text += fmt::format("    evicts {} ({}): {}\n", json::string_at(eviction, {"of"}),
                        json::string_at(eviction, {"how"}), fmt::join(json::strings_at(eviction, {"pods"}), ", "));
  for (const std::string& pod : json::strings_at(step, {"waitsFor"})) text += "    waits for " + pod + " to end\n";
  for (const std::string& other : json::strings_at(step, {"withdraws"}))
    text += "    takes over what was held for " + other + "\n";
  if (json::bool_at(step, {"grows"})) text += "    grows: it runs already\n";
  if (const std::int64_t lost = json::int_at(step, {"lostGpuSeconds"}); lost != 0)
    text += fmt::format("    throws away {} GPU-seconds of work\n", lost);
  return text;
}

std::string verdict_text(const json::Value& step, std::string_view who) {
  std::string text;
  for (const json::Value& why : json::array_at(step, {"because"})) {
    text +=
        fmt::format("{} waits: {}\n    {}\n", who, json::string_at(why, {"code"}), json::string_at(why, {"message"}));
    if (const std::string_view pod = json::string_at(why, {"pod"}); !pod.empty() && !who.ends_with(pod))
      text += fmt::format("    it is {} that finds no place\n", pod);
    if (const std::string_view node = json::string_at(why, {"nearest"}); !node.empty()) {
      const auto lacks = json::strings_at(why, {"shortBy"});
      text += fmt::format("    nearest is {}{}{}\n", node, lacks.empty() ? "" : ", short by ", fmt::join(lacks, ", "));
    }
    for (const std::string& other : json::strings_at(why, {"blockers"})) text += "    in its way: " + other + "\n";
    for (const std::string& protection : json::strings_at(why, {"protections"})) text += "    " + protection + "\n";
  }
  return text;
}

}  // namespace

std::vector<std::string> PlanLines::all() const {
  std::vector<std::string> lines = steps;
  for (const auto& [key, line] : waits) lines.push_back(line);
  return lines;
}

PlanLines lines_of(const Snapshot& snapshot, const Plan& plan) {
  return PlanWriter(snapshot).write(plan);
}

Result<std::string> readable(std::string_view line) {
  GW_TRY(const json::Value step, json::parse(line, {.max_bytes = std::size_t{64} << 20}));
  const auto who = [&](std::string_view kind) { return json::string_at(step, {kind}); };
  if (!who("takenBack").empty()) return fmt::format("{} loses its ticket\n", who("takenBack"));
  if (!who("ticket").empty()) return ticket_text(step, who("ticket"));
  if (!who("waits").empty()) return verdict_text(step, who("waits"));
  if (!who("reservation").empty()) {
    const std::string_view starts = json::string_at(step, {"starts"});
    return fmt::format("{} has room kept: {}{}{}\n", who("reservation"), seats(step),
                       starts.empty() ? "" : "; it can start at ", starts);
  }
  return bad_request(fmt::format("this is no line of a plan: {:.60}", line));
}

std::string readable(const PlanLines& plan) {
  std::string text;
  for (const std::string& line : plan.all()) text += readable(line).value_or(line + "\n");
  return text.empty() ? "nothing to do\n" : text;
}

}  // namespace gangway::scheduler::flight
