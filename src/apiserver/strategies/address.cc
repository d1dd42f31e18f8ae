#include "apiserver/strategies/address.h"

#include <fmt/format.h>

#include <algorithm>

namespace gangway::apiserver {

bool check_address(const Field& field) {
  if (parse_address(field.text())) return true;
  field.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  return false;
}

void check_reachable(const Field& field) {
  auto address = parse_address(field.text());
  if (!address) return field.invalid("must be a valid IP address");
  const auto& b = address->bytes;
  bool v4 = address->is_v4;
  auto zeros_until = [&](std::size_t end) {
    return std::all_of(b.begin(), b.begin() + end, [](auto x) { return x == 0; });
  };
  if (zeros_until(v4 ? 4 : 16)) field.invalid(fmt::format("may not be unspecified ({})", field.text()));
  if (v4 ? b[0] == 127 : zeros_until(15) && b[15] == 1) {
    field.invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)");
  }
  if (v4 ? b[0] == 169 && b[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80) {
    field.invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  }
  if (v4 ? b[0] == 224 && b[1] == 0 && b[2] == 0 : b[0] == 0xff && (b[1] & 0x0f) == 2) {
    field.invalid("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
  }
}

}  // namespace gangway::apiserver
