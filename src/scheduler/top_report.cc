#include "scheduler/top_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "api/pod_phase.h"
#include "base/quantity.h"
#include "client/resource.h"
#include "planning/schedule/schedule.h"
#include "scheduler/describe.h"
#include "scheduler/facts.h"
#include "scheduler/listed_model.h"
#include "scheduler/scheduler.h"
#include "scheduler/wait_text.h"

namespace gangway::scheduler {
namespace {

using client::resources::kPods;
using planning::GangId;
using planning::kNone;
using planning::PodId;
using planning::Snapshot;

constexpr std::int64_t kLongestBar = 16;
constexpr std::size_t kHoldingsNamed = 4;
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

std::string state_of(const planning::NodeTraits& traits) {
  std::vector<std::string> states;
  if (traits.is_unschedulable) states.emplace_back("cordoned");
  for (const planning::Taint& taint : traits.taints) {
    if (!is_condition_of_node(taint)) continue;
    const std::string state = taint.key.substr(taint.key.find('/') + 1);
    if (std::find(states.begin(), states.end(), state) == states.end()) states.push_back(state);
  }
  return fmt::format("{}", fmt::join(states, ","));
}

std::vector<TopReport::NodeLine> lines_of(const Snapshot& snapshot) {
  std::vector<TopReport::NodeLine> lines(snapshot.nodes.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const planning::Node& node = snapshot.nodes[i];
    if (node.name.empty()) continue;
    lines[i].name = node.name;
    lines[i].state = state_of(*node.traits);
    lines[i].cpu = planning::amount_of(node.allocatable, planning::kCpu);
    lines[i].memory = planning::amount_of(node.allocatable, planning::kMemory);
    for (planning::ResourceId r = planning::kFirstExtended; r < snapshot.resources.size(); ++r)
      if (snapshot.resources.is_gpu(r)) lines[i].gpus += planning::amount_of(node.allocatable, r);
  }
  std::vector<std::map<GangId, TopReport::Holding>> holdings(lines.size());
  for (const planning::Pod& pod : snapshot.pods) {
    if (pod.name.empty() || pod.node == kNone) continue;
    TopReport::NodeLine& line = lines[pod.node];
    const std::int64_t gpus = gpus_of(snapshot, pod);
    line.gpus_used += gpus;
    line.cpu_used += planning::amount_of(pod.shape->request, planning::kCpu);
    line.memory_used += planning::amount_of(pod.shape->request, planning::kMemory);
    ++line.pods;
    TopReport::Holding& holding = holdings[pod.node][pod.gang];
    holding.gang = name_of(snapshot.gangs[pod.gang]);
    holding.gpus += gpus;
    ++holding.pods;
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (auto& [gang, holding] : holdings[i]) lines[i].holdings.push_back(std::move(holding));
    std::sort(lines[i].holdings.begin(), lines[i].holdings.end(), [](const auto& a, const auto& b) {
      return std::make_pair(-a.gpus, a.gang.full()) < std::make_pair(-b.gpus, b.gang.full());
    });
  }
  std::erase_if(lines, [](const TopReport::NodeLine& line) { return line.name.empty(); });
  std::sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return lines;
}

std::string why_waits(const planning::Plan& plan, GangId gang) {
  for (const planning::Verdict& verdict : plan.verdicts)
    if (verdict.gang == gang) return verdict.message.substr(0, verdict.message.find(" preemption: "));
  return "has room, and is about to start";
}

// The scheduler that most pods wait for: the embedded one places all, elsewhere it has a name of its own.
std::string busiest_scheduler(const client::View& view) {
  std::map<std::string, std::int64_t> waiting{{Scheduler::kDefaultName, 0}};
  for (const auto& [name, pod] : view.objects(kPods).all())
    if (pod.header->field("spec.nodeName").empty() && !api::has_ended(*pod.header))
      ++waiting[view.objects(kPods).facts(pod, read_pod)->scheduler];
  std::string busiest = Scheduler::kDefaultName;
  for (const auto& [name, count] : waiting)
    if (count > waiting[busiest]) busiest = name;
  return busiest;
}

std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{}Gi", bytes >> 30);
}

// Characters as people see them: continuation bytes of UTF-8 take no room.
std::string cut(const std::string& text, std::size_t width) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80 && ++seen > width) return text.substr(0, i);
  return text;
}

using Row = std::vector<std::string>;

std::string table(const std::vector<Row>& rows, std::size_t width) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}   ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += (width == 0 ? line : cut(line, width)) + "\n";
  }
  return text;
}

// One letter a gang that holds GPUs, so that the same job is seen at once on several nodes.
std::map<std::string, char> letters_of(const TopReport& report) {
  std::map<std::string, char> letters;
  for (const TopReport::NodeLine& line : report.nodes)
    for (const TopReport::Holding& holding : line.holdings)
      if (holding.gpus > 0) letters.emplace(holding.gang.full(), '?');
  std::size_t next = 0;
  for (auto& [name, letter] : letters) letter = kLetters[next++ % kLetters.size()];
  return letters;
}

std::string bar_of(const TopReport::NodeLine& line, const std::map<std::string, char>& letters) {
  if (line.gpus == 0 || line.gpus > kLongestBar) return {};
  std::string bar;
  for (const TopReport::Holding& holding : line.holdings)
    if (holding.gpus > 0) bar.append(static_cast<std::size_t>(holding.gpus), letters.at(holding.gang.full()));
  bar.resize(static_cast<std::size_t>(std::max(line.gpus, line.gpus_used)), '.');
  return "[" + bar + "]";
}

std::string holders_of(const TopReport::NodeLine& line, const std::map<std::string, char>& letters) {
  std::vector<std::string> parts;
  std::int64_t others = 0;
  for (const TopReport::Holding& holding : line.holdings) {
    if (holding.gpus > 0 && parts.size() < kHoldingsNamed) {
      parts.push_back(fmt::format("{} {} ({})", letters.at(holding.gang.full()), holding.gang.full(), holding.gpus));
    } else {
      others += holding.pods;
    }
  }
  if (others > 0)
    parts.push_back(fmt::format("{}{} pod{}", parts.empty() ? "" : "and ", others, others == 1 ? "" : "s"));
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace

TopReport top_of(const Snapshot& snapshot, const planning::Plan& plan) {
  TopReport report{.now = snapshot.now, .nodes = lines_of(snapshot)};
  for (const planning::Pod& pod : snapshot.pods)
    if (!pod.name.empty() && pod.node == kNone && pod.is_gated) ++report.gated;
  for (const GangId id : line_of(snapshot)) {
    const planning::Gang& gang = snapshot.gangs[id];
    TopReport::Waiting waiting{.gang = name_of(gang)};
    for (const PodId pod : waiting_members(snapshot, id)) {
      ++waiting.pods;
      waiting.gpus += gpus_of(snapshot, snapshot.pods[pod]);
    }
    waiting.priority = planning::priority_of(snapshot, gang);
    waiting.since = gang.since;
    waiting.why = why_waits(plan, id);
    report.waiting.push_back(std::move(waiting));
  }
  return report;
}

TopReport top_of(const client::View& view) {
  const auto model = model_of(view, busiest_scheduler(view));
  return top_of(model->snapshot(), planning::schedule(model->snapshot(), model->policies()));
}

std::string to_text(const TopReport& report, std::size_t width) {
  std::int64_t gpus = 0;
  std::int64_t used = 0;
  std::int64_t wanted = 0;
  for (const TopReport::NodeLine& line : report.nodes) {
    gpus += line.gpus;
    used += line.gpus_used;
  }
  for (const TopReport::Waiting& waiting : report.waiting) wanted += waiting.gpus;
  const auto letters = letters_of(report);
  std::string text =
      fmt::format("{}   {} nodes   {} of {} GPUs in use   {} waiting for {} GPUs\n\n", to_rfc3339(report.now),
                  report.nodes.size(), used, gpus, report.waiting.size(), wanted);
  std::vector<Row> rows{{"NODE", "STATE", "GPUS", "", "CPU", "MEMORY", "HELD BY"}};
  for (const TopReport::NodeLine& line : report.nodes)
    rows.push_back(
        {line.name, line.state.empty() ? "ready" : line.state, fmt::format("{}/{}", line.gpus_used, line.gpus),
         bar_of(line, letters),
         fmt::format("{:.1f}/{:.0f}", static_cast<double>(line.cpu_used) / 1000, static_cast<double>(line.cpu) / 1000),
         gibibytes(line.memory_used) + "/" + gibibytes(line.memory), holders_of(line, letters)});
  text += table(rows, width);
  if (!report.waiting.empty()) {
    rows = {{"IN LINE", "WAITING", "PODS", "GPUS", "PRIORITY", "SINCE", "WHY"}};
    for (std::size_t i = 0; i < report.waiting.size(); ++i) {
      const TopReport::Waiting& waiting = report.waiting[i];
      rows.push_back({std::to_string(i + 1), waiting.gang.full(), std::to_string(waiting.pods),
                      std::to_string(waiting.gpus), std::to_string(waiting.priority),
                      human_duration(report.now - waiting.since), waiting.why});
    }
    text += "\n" + table(rows, width);
  }
  if (report.gated > 0)
    text += fmt::format("\n{} pod{} with scheduling gates\n", report.gated, report.gated == 1 ? "" : "s");
  return text;
}

json::Value to_json(const TopReport& report) {
  json::Array nodes;
  for (const TopReport::NodeLine& line : report.nodes) {
    json::Array holdings;
    for (const TopReport::Holding& holding : line.holdings) {
      json::Object object = name_json(holding.gang);
      object["gpus"] = holding.gpus;
      object["pods"] = holding.pods;
      holdings.push_back(std::move(object));
    }
    nodes.push_back(json::Object{{"name", line.name},
                                 {"state", line.state.empty() ? "ready" : line.state},
                                 {"gpus", json::Object{{"used", line.gpus_used}, {"total", line.gpus}}},
                                 {"milliCpu", json::Object{{"used", line.cpu_used}, {"total", line.cpu}}},
                                 {"memoryBytes", json::Object{{"used", line.memory_used}, {"total", line.memory}}},
                                 {"pods", line.pods},
                                 {"heldBy", std::move(holdings)}});
  }
  json::Array waiting;
  for (const TopReport::Waiting& one : report.waiting) {
    json::Object object = name_json(one.gang);
    object["pods"] = one.pods;
    object["gpus"] = one.gpus;
    object["priority"] = one.priority;
    object["since"] = to_rfc3339(one.since);
    object["why"] = one.why;
    waiting.push_back(std::move(object));
  }
  return json::Object{{"time", to_rfc3339(report.now)},
                      {"nodes", std::move(nodes)},
                      {"waiting", std::move(waiting)},
                      {"gatedPods", report.gated}};
}

}  // namespace gangway::scheduler
