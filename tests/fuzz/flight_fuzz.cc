// Records of the scheduler's cycles, which people carry from machine to machine: a line that says what follows, "file",
// "body" (of a record, without the sum that no fuzzer finds) or "snapshot", and then that.
#include "fuzz.h"
#include "scheduler/flight/plan_text.h"
#include "scheduler/flight/record.h"
#include "scheduler/flight/snapshot_text.h"

namespace gangway::fuzz {
namespace {

namespace flight = scheduler::flight;

// What can be read is written in one way, and that way reads back as the same.
void check_given(const flight::Given& given) {
  const std::string text = flight::encode(given.snapshot, given.policies, given.budget);
  const auto again = flight::decode(text);
  FUZZ_LAW(again.has_value(), text + (again ? "" : again.error().message));
  FUZZ_LAW(flight::encode(again->snapshot, again->policies, again->budget) == text, text);
}

void check_body(std::string_view body) {
  flight::CycleRecord record;
  if (!flight::apply(record, {1, true, body})) return;
  const std::string text = whole(record);
  flight::CycleRecord again;
  FUZZ_LAW(flight::apply(again, {1, true, text}).has_value(), text);
  FUZZ_LAW(again.snapshot == record.snapshot && again.plan == record.plan && again.frame == record.frame, text);
  FUZZ_LAW(!readable(record.plan).empty(), text);
  if (const auto given = flight::decode(record.frame, record.snapshot)) check_given(*given);
  // The same lines once more are no change.
  FUZZ_LAW(flight::apply(again, {2, false, text}).has_value() && again.snapshot == record.snapshot, text);
}

// What a writer says of the way from one cycle to the next leads a reader there, and says nothing when nothing changed.
void check_difference(const flight::CycleRecord& before, const flight::CycleRecord& now) {
  flight::Entry entry{.frame = now.frame, .plan = now.plan};
  for (const auto& [key, line] : now.snapshot) entry.changed.push_back(line);
  for (const auto& [key, line] : before.snapshot)
    if (!now.snapshot.contains(key)) entry.gone.push_back(key);
  FUZZ_LAW(entry.bytes() >= entry.frame.size(), entry.frame);
  flight::CycleRecord written = before;
  const std::string body = advance(written, entry);
  flight::CycleRecord read = before;
  FUZZ_LAW(flight::apply(read, {now.number, before.frame.empty(), body}).has_value(), body);
  for (const auto* reached : {&written, &read}) {
    FUZZ_LAW(reached->snapshot == now.snapshot && reached->plan == now.plan && reached->frame == now.frame, body);
  }
  entry.plan.steps.clear();
  FUZZ_LAW(advance(written, entry) == now.frame + "\n", body);
}

void check_file(std::string_view bytes) {
  auto reader = flight::BlockReader::open(bytes);
  if (!reader) return;
  flight::CycleRecord record;
  while (const auto block = reader->next()) {
    const std::string text = flight::file_header() + block_text(*block);
    auto again = flight::BlockReader::open(text);
    FUZZ_LAW(again.has_value(), text);
    const auto same = again->next();
    FUZZ_LAW(same && same->body == block->body && same->cycle == block->cycle && same->is_full == block->is_full, text);
    FUZZ_LAW(!again->next() && again->note().empty(), text);
    check_body(block->body);
    const flight::CycleRecord before = record;
    if (!flight::apply(record, *block)) {
      record = {};
      continue;
    }
    check_difference(before, record);
  }
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  const std::string_view what = input.line();
  // A copy with exact bounds: a read behind the end is a finding.
  const std::string rest(input.rest());
  if (what == "file") fuzz::check_file(rest);
  if (what == "body") fuzz::check_body(rest);
  if (what == "snapshot") {
    if (const auto given = scheduler::flight::decode(rest)) fuzz::check_given(*given);
  }
  return 0;
}
