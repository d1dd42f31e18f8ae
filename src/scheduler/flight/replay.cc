#include "scheduler/flight/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "json/access.h"
#include "planning/placement/verify.h"
#include "planning/schedule/schedule.h"

namespace gangway::scheduler::flight {
namespace {

// Every line of the text with a mark in front of it.
std::string marked(char mark, const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    out += mark;
    out += ' ';
    out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

std::vector<std::string> only_in(std::vector<std::string> these, std::vector<std::string> those) {
  std::sort(these.begin(), these.end());
  std::sort(those.begin(), those.end());
  std::vector<std::string> rest;
  std::set_difference(these.begin(), these.end(), those.begin(), those.end(), std::back_inserter(rest));
  return rest;
}

std::size_t count(const Lines& lines, std::string_view kind) {
  const std::string prefix = std::string(kind) + "\"";
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first.starts_with(prefix); }));
}

std::vector<std::string> broken_then(const CycleRecord& record) {
  const auto frame = json::parse(record.frame);
  return frame ? json::strings_at(*frame, {"broken"}) : std::vector<std::string>();
}

}  // namespace

Result<Replay> replay(CycleRecord record) {
  auto given = decode(record.frame, record.snapshot);
  if (!given) return std::move(given.error()).within(fmt::format("cycle {}", record.number));
  const planning::Plan plan = planning::schedule(given->snapshot, given->policies, given->budget);
  Replay result;
  result.planned = lines_of(given->snapshot, plan);
  result.broken = planning::verify(given->snapshot, given->policies, plan);
  result.record = std::move(record);
  return result;
}

std::string difference(const PlanLines& recorded, const PlanLines& planned) {
  if (recorded == planned) return "";
  std::string text;
  for (const std::string& line : only_in(recorded.all(), planned.all()))
    text += marked('-', readable(line).value_or(line + "\n"));
  for (const std::string& line : only_in(planned.all(), recorded.all()))
    text += marked('+', readable(line).value_or(line + "\n"));
  if (!text.empty()) return text;
  text = "the same tickets in another order:\n";
  for (const std::string& line : recorded.steps) text += marked('-', readable(line).value_or(line + "\n"));
  for (const std::string& line : planned.steps) text += marked('+', readable(line).value_or(line + "\n"));
  return text;
}

std::string report(const Replay& replay) {
  const CycleRecord& record = replay.record;
  const auto frame = json::parse(record.frame);
  std::string text =
      fmt::format("Cycle {} of {}: {} nodes, {} pods, {} groups\n\n{}\n", record.number,
                  frame ? json::string_at(*frame, {"now"}) : "", count(record.snapshot, "node"),
                  count(record.snapshot, "pod"), count(record.snapshot, "group"), readable(replay.planned));
  for (const std::string& law : broken_then(record)) text += "Refused when it was made: " + law + "\n";
  for (const std::string& law : replay.broken) text += "Breaks a law: " + law + "\n";
  if (replay.is_same()) return text + "The plan is the same as recorded.\n";
  return text + "The plan is NOT the same as recorded (- recorded, + now):\n" + difference(record.plan, replay.planned);
}

json::Value report_json(const Replay& replay) {
  const auto tree = [](const std::vector<std::string>& lines) {
    json::Array all;
    for (const std::string& line : lines)
      if (auto value = json::parse(line, {.max_bytes = std::size_t{64} << 20})) all.push_back(std::move(*value));
    return all;
  };
  const auto texts = [](const std::vector<std::string>& lines) { return json::Array(lines.begin(), lines.end()); };
  const auto frame = json::parse(replay.record.frame);
  json::Object out{{"cycle", replay.record.number},
                   {"now", frame ? json::string_at(*frame, {"now"}) : ""},
                   {"basis", frame ? json::Value(json::members_at(*frame, {"basis"})) : json::Value()},
                   {"same", replay.is_same()},
                   {"broken", texts(replay.broken)},
                   {"plan", tree(replay.planned.all())}};
  if (!replay.is_same()) out["recorded"] = tree(replay.record.plan.all());
  return out;
}

}  // namespace gangway::scheduler::flight
