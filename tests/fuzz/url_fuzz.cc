// Request targets: path and query, as they stand in the request line.
#include "fuzz.h"
#include "sys/url.h"

namespace gangway::fuzz {
namespace {

void check_query(const sys::Query& query, std::string_view target) {
  for (const std::string_view name : {"watch", "limit", "labelSelector", "a", ""}) {
    const auto values = query.all(name);
    FUZZ_LAW(query.has(name) == !values.empty(), target);
    FUZZ_LAW(query.get(name) == (values.empty() ? std::string_view() : values.front()), target);
    FUZZ_LAW(query.has(name) || !query.flag(name), target);
    const auto number = query.integer(name);
    if (number && *number) FUZZ_LAW(!query.get(name).empty(), target);
    if (!number) FUZZ_LAW(number.error().message.starts_with(name), target);
  }
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto target = sys::parse_target(text);
  if (target) {
    FUZZ_LAW(target->path.size() <= text.size(), text);
    for (const auto& segment : target->segments) FUZZ_LAW(!segment.empty(), text);
    fuzz::check_query(target->query, text);
  }
  for (const bool plus_is_space : {false, true}) {
    const auto back = sys::percent_decode(sys::percent_encode(text), plus_is_space);
    FUZZ_LAW(back && *back == text, text);
  }
  return 0;
}
