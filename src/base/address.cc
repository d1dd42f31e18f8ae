#include "base/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>

namespace gangway {

std::optional<Address> parse_address(std::string_view text) {
  Address address;
  std::string terminated(text);
  if (inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1) return address;
  address.is_v4 = false;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

std::optional<std::uint32_t> parse_v4(std::string_view text) {
  auto address = parse_address(text);
  if (!address || !address->is_v4) return std::nullopt;
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | address->bytes[static_cast<std::size_t>(i)];
  return number;
}

std::string v4_text(std::uint32_t number) {
  return fmt::format("{}.{}.{}.{}", number >> 24, number >> 16 & 255, number >> 8 & 255, number & 255);
}

Network Network::of(std::uint32_t address, unsigned prefix) {
  Network network{0, prefix};
  network.first = address & network.mask();
  return network;
}

std::string Network::text() const {
  return fmt::format("{}/{}", v4_text(first), prefix);
}

std::optional<Network> parse_network(std::string_view text) {
  auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto address = parse_v4(text.substr(0, slash));
  auto digits = text.substr(slash + 1);
  unsigned prefix = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (!address || error != std::errc() || end != digits.data() + digits.size() || prefix > 32) return std::nullopt;
  return Network::of(*address, prefix);
}

}  // namespace gangway
