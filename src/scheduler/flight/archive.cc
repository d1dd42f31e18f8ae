#include "scheduler/flight/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "json/access.h"
#include "json/value.h"
#include "sys/files.h"

namespace gangway::scheduler::flight {
namespace {

constexpr std::string_view kSuffix = ".flight";

// Calls `visit` with the record as of every cycle in the file, until it says that it has enough.
template <class Visit>
Result<void> read_cycles(const std::string& path, Visit visit) {
  auto bytes = sys::read_file(path);
  if (!bytes) return std::move(bytes.error());
  auto reader = BlockReader::open(*bytes);
  if (!reader) return std::move(reader.error()).within(path);
  CycleRecord record;
  while (const auto block = reader->next()) {
    if (auto applied = apply(record, *block); !applied) return std::move(applied.error()).within(path);
    if (!visit(record)) return {};
  }
  if (!reader->note().empty()) return bad_request(path + ": " + reader->note());
  return {};
}

Summary summary_of(const CycleRecord& record) {
  Summary summary{.cycle = record.number, .waiting = record.plan.waits.size()};
  if (const auto frame = json::parse(record.frame)) summary.now = json::string_at(*frame, {"now"});
  for (const std::string& line : record.plan.steps) {
    const auto step = json::parse(line, {.max_bytes = std::size_t{64} << 20});
    if (!step || json::find(*step, {"ticket"}) == nullptr) continue;
    ++summary.tickets;
    for (const json::Value& eviction : json::array_at(*step, {"evicts"}))
      summary.evicted += json::array_at(eviction, {"pods"}).size();
  }
  return summary;
}

}  // namespace

std::string file_name(std::uint64_t first_cycle) {
  return fmt::format("{:020}{}", first_cycle, kSuffix);
}

std::uint64_t number_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : 0;
}

Result<std::vector<std::string>> flight_files(const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error) {
    Error failure = internal_error(fmt::format("cannot read the directory {}: {}", folder, error.message()));
    if (error == std::errc::no_such_file_or_directory) failure.reason = Reason::kNotFound;
    return failure;
  }
  std::vector<std::string> files;
  for (; entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (error) break;
    const std::string path = entries->path();
    if (path.ends_with(kSuffix) && number_of(path) > 0) files.push_back(path);
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return number_of(a) < number_of(b); });
  return files;
}

std::vector<Summary> list_cycles(const std::vector<std::string>& files, std::vector<std::string>& notes) {
  std::vector<Summary> cycles;
  for (const std::string& path : files) {
    const auto read = read_cycles(path, [&](const CycleRecord& record) {
      cycles.push_back(summary_of(record));
      return true;
    });
    // The oldest may be removed while we read.
    if (!read && read.error().reason != Reason::kNotFound) notes.push_back(read.error().message);
  }
  return cycles;
}

Result<CycleRecord> find_cycle(const std::vector<std::string>& files, std::optional<std::uint64_t> number,
                               std::vector<std::string>& notes) {
  std::optional<CycleRecord> found;
  // From the newest back: the first file that has it, whole, is the only one that does.
  for (auto path = files.rbegin(); path != files.rend() && !found; ++path) {
    const auto read = read_cycles(*path, [&](const CycleRecord& record) {
      if (number && record.number > *number) return false;
      if (!number || record.number == *number) found = record;
      return !found || !number;
    });
    if (!read && read.error().reason != Reason::kNotFound) notes.push_back(read.error().message);
  }
  if (found) return std::move(*found);
  Error missing;
  missing.reason = Reason::kNotFound;
  missing.message = number ? fmt::format("cycle {} is not among those that are kept", *number)
                           : std::string("no cycle has been recorded yet");
  return missing;
}

std::string exported(const CycleRecord& record) {
  return file_header() + block_text({record.number, true, whole(record)});
}

}  // namespace gangway::scheduler::flight
