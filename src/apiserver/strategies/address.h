// IP addresses as values of fields.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/strategies/field.h"

namespace gangway::apiserver {

struct Address {
  bool is_v4 = true;
  std::array<std::uint8_t, 16> bytes{};  // the first four, for IPv4
};

std::optional<Address> parse_address(std::string_view text);
std::string v4_text(std::uint32_t number);

// Adds a cause unless the field is an address; false when it did.
bool check_address(const Field& field);
// An address that others may send to: not the loopback, link-local or unspecified one.
void check_reachable(const Field& field);

}  // namespace gangway::apiserver
