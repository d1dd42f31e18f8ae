// Request targets: path and query, as they stand in the request line.
#include "apiserver/url.h"
#include "fuzz.h"

namespace gangway::fuzz {
namespace {

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
  }
  return out;
}

void check_query(const apiserver::Query& query, std::string_view target) {
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
  const auto target = apiserver::parse_target(text);
  if (target) {
    FUZZ_LAW(target->path.size() <= text.size(), text);
    for (const auto& segment : target->segments) FUZZ_LAW(!segment.empty(), text);
    fuzz::check_query(target->query, text);
  }
  for (const bool plus_is_space : {false, true}) {
    const auto back = apiserver::percent_decode(fuzz::percent_encoded(text), plus_is_space);
    FUZZ_LAW(back && *back == text, text);
  }
  return 0;
}
