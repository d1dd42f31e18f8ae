#include "json/protobuf_wire.h"

#include <fmt/format.h>

namespace gangway::json {
namespace {

constexpr unsigned kLongestVarint = 10;

}  // namespace

Result<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < kLongestVarint; ++i) {
    if (rest_.empty()) return bad_request("the data ends within a number");
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    // Of the tenth byte only one bit is left to give.
    if (i + 1 == kLongestVarint && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
    if (byte < 0x80) return value;
  }
  return bad_request("a number does not fit into 64 bits");
}

Result<WireTag> WireReader::tag() {
  GW_TRY(const std::uint64_t key, varint());
  const std::uint64_t number = key >> 3;
  const auto type = static_cast<unsigned>(key & 7U);
  if (number == 0 || number > 0x1fffffff) return bad_request(fmt::format("{} is not a field number", number));
  if (type != 0 && type != 1 && type != 2 && type != 5) {
    return bad_request(fmt::format("field {} has the unknown wire type {}", number, type));
  }
  return WireTag{static_cast<std::uint32_t>(number), static_cast<WireType>(type)};
}

Result<std::string_view> WireReader::take(std::uint64_t size) {
  if (size > rest_.size()) return bad_request(fmt::format("{} bytes are announced, {} are left", size, rest_.size()));
  const auto taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

template <class Number>
Result<Number> WireReader::little_endian() {
  GW_TRY(const std::string_view bytes, take(sizeof(Number)));
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) value |= Number{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

Result<std::uint32_t> WireReader::fixed32() {
  return little_endian<std::uint32_t>();
}

Result<std::uint64_t> WireReader::fixed64() {
  return little_endian<std::uint64_t>();
}

Result<std::string_view> WireReader::bytes() {
  GW_TRY(const std::uint64_t size, varint());
  return take(size);
}

Result<void> WireReader::skip(WireType type) {
  switch (type) {
    case WireType::kVarint:
      GW_CHECKED(varint());
      return {};
    case WireType::kFixed64:
      GW_CHECKED(take(8));
      return {};
    case WireType::kFixed32:
      GW_CHECKED(take(4));
      return {};
    case WireType::kBytes:
      GW_CHECKED(bytes());
      return {};
  }
  return {};
}

}  // namespace gangway::json
