// IP addresses and IPv4 networks as values. Pure; usable from any thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gangway {

struct Address {
  bool is_v4 = true;
  std::array<std::uint8_t, 16> bytes{};  // the first four, for IPv4
};

std::optional<Address> parse_address(std::string_view text);

// IPv4 addresses as numbers, in the order that people count them: 10.0.0.2 is one more than 10.0.0.1.
std::optional<std::uint32_t> parse_v4(std::string_view text);
std::string v4_text(std::uint32_t number);

// "10.244.4.0/22". The bits of `first` behind the prefix are zero.
struct Network {
  std::uint32_t first = 0;
  unsigned prefix = 32;

  static Network of(std::uint32_t address, unsigned prefix);
  std::uint32_t mask() const { return prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix); }
  bool contains(std::uint32_t address) const { return (address & mask()) == first; }
  bool overlaps(const Network& other) const { return contains(other.first) || other.contains(first); }
  std::string text() const;
  auto operator<=>(const Network&) const = default;
};

// Takes "10.244.5.7/22" too: the network that the address is in.
std::optional<Network> parse_network(std::string_view text);

}  // namespace gangway
