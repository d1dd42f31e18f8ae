// The wire format of protobuf: tags, varints, fixed-size numbers and counted bytes. It knows no message types;
// protobuf.h does. Readers are views into bytes that must outlive them, and never read past their end.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace gangway::json {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireTag {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  // Groups, which protobuf gave up long ago, are refused.
  Result<WireTag> tag();
  Result<std::uint64_t> varint();
  Result<std::uint32_t> fixed32();
  Result<std::uint64_t> fixed64();
  // A length and that many bytes.
  Result<std::string_view> bytes();
  // Passes over the value of a field that nobody wants.
  Result<void> skip(WireType type);

 private:
  Result<std::string_view> take(std::uint64_t size);
  template <class Number>
  Result<Number> little_endian();

  std::string_view rest_;
};

}  // namespace gangway::json
