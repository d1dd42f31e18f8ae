#include "store/header_codec.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace gangway::store {
namespace {

constexpr char kForm = 1;

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  // The sign goes to the lowest bit, so that small negative numbers stay short.
  void signed_number(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    number(value.size());
    out_.append(value);
  }
  void pairs(const api::StringPairs& pairs) {
    number(pairs.size());
    for (const auto& [key, value] : pairs) {
      text(key);
      text(value);
    }
  }

 private:
  std::string& out_;
};

// After something that does not fit, everything reads as zero or empty and ok() is false.
class Decoder {
 public:
  explicit Decoder(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !in_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(in_.front());
      in_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return fail();
  }
  std::int64_t signed_number() {
    const auto value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  std::string text() {
    const auto size = number();
    if (size > in_.size()) return fail(), std::string();
    std::string value(in_.substr(0, size));
    in_.remove_prefix(size);
    return value;
  }
  // How many items follow. Each takes a byte at least, so more than there are bytes is a lie not worth a reserve().
  std::size_t count() {
    const auto value = number();
    return value > in_.size() ? fail() : value;
  }
  api::StringPairs pairs() {
    api::StringPairs result;
    const auto size = count();
    result.reserve(size);
    for (std::size_t i = 0; i < size && ok_; ++i) {
      auto key = text();
      auto value = text();
      result.emplace_back(std::move(key), std::move(value));
    }
    return result;
  }

 private:
  std::uint64_t fail() {
    ok_ = false;
    in_ = {};
    return 0;
  }

  std::string_view in_;
  bool ok_ = true;
};

constexpr std::uint64_t kController = 1;
constexpr std::uint64_t kBlocksDeletion = 2;

void encode_owner(Encoder& encoder, const api::OwnerReference& owner) {
  encoder.text(owner.api_version);
  encoder.text(owner.kind);
  encoder.text(owner.name);
  encoder.text(owner.uid);
  encoder.number((owner.controller ? kController : 0) | (owner.block_owner_deletion ? kBlocksDeletion : 0));
}

api::OwnerReference decode_owner(Decoder& decoder) {
  api::OwnerReference owner;
  owner.api_version = decoder.text();
  owner.kind = decoder.text();
  owner.name = decoder.text();
  owner.uid = decoder.text();
  const auto flags = decoder.number();
  owner.controller = (flags & kController) != 0;
  owner.block_owner_deletion = (flags & kBlocksDeletion) != 0;
  return owner;
}

}  // namespace

std::string encode_header(const api::Header& header) {
  std::string bytes(1, kForm);
  Encoder encoder(bytes);
  encoder.text(header.uid);
  encoder.signed_number(header.generation);
  encoder.pairs(header.labels);
  encoder.pairs(header.fields);
  encoder.number(header.owners.size());
  for (const auto& owner : header.owners) encode_owner(encoder, owner);
  encoder.number(header.finalizers.size());
  for (const auto& finalizer : header.finalizers) encoder.text(finalizer);
  encoder.signed_number(header.created.time_since_epoch().count());
  encoder.number(header.deleting_since ? 1 : 0);
  if (header.deleting_since) encoder.signed_number(header.deleting_since->time_since_epoch().count());
  return bytes;
}

Result<api::Header> decode_header(std::string_view bytes) {
  if (bytes.empty() || bytes.front() != kForm) return internal_error("a stored header has an unknown form");
  Decoder decoder(bytes.substr(1));
  api::Header header;
  header.uid = decoder.text();
  header.generation = decoder.signed_number();
  header.labels = decoder.pairs();
  header.fields = decoder.pairs();
  const auto owners = decoder.count();
  header.owners.reserve(owners);
  for (std::size_t i = 0; i < owners && decoder.ok(); ++i) header.owners.push_back(decode_owner(decoder));
  const auto finalizers = decoder.count();
  header.finalizers.reserve(finalizers);
  for (std::size_t i = 0; i < finalizers && decoder.ok(); ++i) header.finalizers.push_back(decoder.text());
  header.created = WallTime(Duration(decoder.signed_number()));
  if (decoder.number() != 0) header.deleting_since = WallTime(Duration(decoder.signed_number()));
  if (!decoder.ok() || !decoder.at_end()) return internal_error("a stored header is incomplete");
  return header;
}

}  // namespace gangway::store
