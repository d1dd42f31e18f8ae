#include "scheduler/flight/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "json/access.h"
#include "json/value.h"

namespace gangway::scheduler::flight {
namespace {

constexpr std::string_view kGone = "{\"gone\":";
constexpr std::array<std::string_view, 4> kSnapshotKinds{"disruptionBudget", "group", "node", "pod"};
constexpr std::array<std::string_view, 3> kStepKinds{"takenBack", "ticket", "reservation"};

template <class Kinds>
bool is_one_of(std::string_view key, const Kinds& kinds) {
  return std::find(kinds.begin(), kinds.end(), key.substr(0, key.find('"'))) != kinds.end();
}

std::string gone_line(std::string_view key) {
  return fmt::format("{}{{\"{}\"}}}}\n", kGone, key);
}

// The difference between two sets of lines, which `lines` is brought up to.
void replace_waits(Lines& lines, Lines now, std::string& body) {
  for (const auto& [key, line] : lines)
    if (!now.contains(key)) body += gone_line(key);
  for (const auto& [key, line] : now)
    if (const auto before = lines.find(key); before == lines.end() || before->second != line) body += line + "\n";
  lines = std::move(now);
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

Result<void> apply_gone(CycleRecord& record, std::string_view line) {
  const std::string_view key = key_of(line.substr(kGone.size()));
  Lines& lines = key.starts_with("waits\"") ? record.plan.waits : record.snapshot;
  const auto at = lines.find(key);
  if (at == lines.end()) return bad_request(fmt::format("nothing is known of what is said to be gone: {:.80}", line));
  lines.erase(at);
  return {};
}

Result<void> apply_line(CycleRecord& record, std::string_view line) {
  if (line.starts_with(kGone)) return apply_gone(record, line);
  const std::string_view key = key_of(line);
  if (key.starts_with("now\"")) {
    record.frame = line;
  } else if (key.starts_with("waits\"")) {
    record.plan.waits.insert_or_assign(std::string(key), std::string(line));
  } else if (is_one_of(key, kStepKinds)) {
    record.plan.steps.emplace_back(line);
  } else if (is_one_of(key, kSnapshotKinds)) {
    record.snapshot.insert_or_assign(std::string(key), std::string(line));
  } else {
    return bad_request(fmt::format("a line that is not known here: {:.80}", line));
  }
  return {};
}

std::string sum_of(std::string_view bytes) {
  return fmt::format("{:016x}", fnv1a(bytes));
}

}  // namespace

std::string file_header() {
  return fmt::format("{{\"flight\":{}}}\n", kFormatVersion);
}

std::size_t Entry::bytes() const {
  std::size_t sum = frame.size();
  for (const auto* lines : {&changed, &gone, &plan.steps})
    for (const std::string& line : *lines) sum += line.size() + sizeof line;
  for (const auto& [key, line] : plan.waits) sum += key.size() + line.size() + 2 * sizeof line;
  return sum;
}

std::string advance(CycleRecord& record, Entry entry) {
  std::string body = entry.frame + "\n";
  record.frame = std::move(entry.frame);
  for (const std::string& key : entry.gone)
    if (record.snapshot.erase(key) > 0) body += gone_line(key);
  for (std::string& line : entry.changed) {
    std::string& before = record.snapshot[std::string(key_of(line))];
    if (before == line) continue;
    body += line + "\n";
    before = std::move(line);
  }
  for (const std::string& step : entry.plan.steps) body += step + "\n";
  record.plan.steps = std::move(entry.plan.steps);
  replace_waits(record.plan.waits, std::move(entry.plan.waits), body);
  return body;
}

std::string whole(const CycleRecord& record) {
  std::string body = record.frame + "\n";
  for (const auto& [key, line] : record.snapshot) body += line + "\n";
  for (const std::string& line : record.plan.all()) body += line + "\n";
  return body;
}

std::string block_text(const Block& block) {
  return fmt::format("{{\"cycle\":{},\"bytes\":{},\"sum\":\"{}\"{}}}\n{}", block.cycle, block.body.size(),
                     sum_of(block.body), block.is_full ? ",\"full\":true" : "", block.body);
}

Result<void> apply(CycleRecord& record, const Block& block) {
  if (block.is_full) record = {};
  if (!block.is_full && record.frame.empty())
    return bad_request(
        fmt::format("cycle {} says only what has changed, and there is no cycle before it", block.cycle));
  record.number = block.cycle;
  record.plan.steps.clear();
  for (std::string_view rest = block.body; !rest.empty();) {
    auto applied = apply_line(record, take_line(rest));
    if (!applied) return std::move(applied.error()).within(fmt::format("cycle {}", block.cycle));
  }
  if (record.frame.empty()) return bad_request(fmt::format("cycle {} does not say when it was", block.cycle));
  return {};
}

Result<BlockReader> BlockReader::open(std::string_view bytes) {
  const auto header = json::parse(take_line(bytes));
  const std::int64_t version = header ? json::int_at(*header, {"flight"}) : 0;
  if (version <= 0) return bad_request("it does not begin as a flight record does, with {\"flight\":1}");
  if (version > kFormatVersion)
    return bad_request(
        fmt::format("it is of version {}, and this gangway reads up to version {}: a newer gangway is "
                    "needed",
                    version, kFormatVersion));
  return BlockReader(bytes);
}

std::optional<Block> BlockReader::next() {
  if (rest_.empty() || !note_.empty()) return std::nullopt;
  const bool is_line_whole = rest_.find('\n') != std::string_view::npos;
  std::string_view rest = rest_;
  const auto header = json::parse(take_line(rest));
  const json::Value* size = header ? json::find(*header, {"bytes"}) : nullptr;
  const std::int64_t cycle = header ? json::int_at(*header, {"cycle"}) : 0;
  if (!is_line_whole ||
      (size != nullptr && size->is_int64() && size->get_int64() > static_cast<std::int64_t>(rest.size()))) {
    note_ = fmt::format("it ends in the middle of a record{}", cycle > 0 ? fmt::format(", cycle {}", cycle) : "");
    return std::nullopt;
  }
  if (size == nullptr || !size->is_int64() || size->get_int64() < 0 || cycle <= 0) {
    note_ = "there is something in it that is no record";
    return std::nullopt;
  }
  const Block block{static_cast<std::uint64_t>(cycle), json::bool_at(*header, {"full"}),
                    rest.substr(0, static_cast<std::size_t>(size->get_int64()))};
  if (json::string_at(*header, {"sum"}) != sum_of(block.body)) {
    note_ = fmt::format("the bytes of cycle {} are not those that were written", cycle);
    return std::nullopt;
  }
  rest.remove_prefix(block.body.size());
  rest_ = rest;
  return block;
}

}  // namespace gangway::scheduler::flight
