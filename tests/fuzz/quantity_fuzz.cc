// Amounts of resources: two quantities, one a line.
#include "base/quantity.h"
#include "fuzz.h"

namespace gangway::fuzz {
namespace {

// A binary amount that no binary suffix fits is written without one and reads as a decimal amount, which may have a
// shorter form: 1937.5Ki, 1984000, 1984k. Whatever has a suffix keeps its form.
bool keeps_form(std::string_view text) {
  return text.empty() || text.back() < '0' || text.back() > '9';
}

void check_one(const Quantity& quantity) {
  // The canonical form has no exponent beyond what parse() takes only up to its limits of length.
  const auto canonical = quantity.canonical();
  const auto again = Quantity::parse(canonical);
  if (!again) {
    FUZZ_LAW(canonical.size() > 512 || canonical.find('e') != std::string::npos, canonical);
    return;
  }
  FUZZ_LAW(*again == quantity, canonical);
  FUZZ_LAW(!keeps_form(canonical) || again->canonical() == canonical, canonical);
  const auto settled = Quantity::parse(again->canonical());
  FUZZ_LAW(settled && settled->canonical() == again->canonical(), canonical);
  const auto text = quantity.to_string();
  const auto read_back = Quantity::parse(text);
  FUZZ_LAW(read_back && *read_back == quantity, text);
  FUZZ_LAW(!keeps_form(text) || read_back->to_string() == text, text);
}

void check_order(const Quantity& a, const Quantity& b) {
  const auto sum = a + b;
  FUZZ_LAW(sum - b == a, sum.canonical());
  FUZZ_LAW(sum == b + a, sum.canonical());
  FUZZ_LAW((a < b) == (-b < -a), a.canonical());
  FUZZ_LAW((a - b).is_negative() == (a < b), a.canonical());
  FUZZ_LAW((a - b).is_zero() == (a == b), a.canonical());
  FUZZ_LAW(a > b || a.value() <= b.value(), a.canonical());
  FUZZ_LAW(a > b || a.milli_value() <= b.milli_value(), a.canonical());
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  // Copies with exact bounds: a read behind the end is a finding, not the next field.
  const std::string first(input.line());
  const std::string second(input.line());
  const auto a = Quantity::parse(first);
  const auto b = Quantity::parse(second);
  if (a) fuzz::check_one(*a);
  if (a && b) fuzz::check_order(*a, *b);
  return 0;
}
