#include "client/action.h"

#include <array>

namespace gangway::client {
namespace {

// FNV-1a. Part of the names of stored objects: it must never change.
class NameHash {
 public:
  NameHash& mix(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0xff);  // not a byte of UTF-8: keeps ("a", "bc") apart from ("ab", "c")
    return *this;
  }
  NameHash& mix(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) step(static_cast<unsigned char>(number >> shift));
    return *this;
  }
  std::string text() const {
    constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
    std::string digits;
    std::uint64_t rest = state_;
    for (int i = 0; i < 10; ++i, rest /= kAlphabet.size()) digits += kAlphabet[rest % kAlphabet.size()];
    return digits;
  }

 private:
  void step(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace

Target target_of(const Resource& resource, const api::Version& version) {
  return {.resource = resource,
          .object = version.header->name,
          .uid = version.header->uid,
          .revision = version.header->revision};
}

Target target_by_uid(const Resource& resource, const api::Version& version) {
  return {.resource = resource, .object = version.header->name, .uid = version.header->uid, .revision = 0};
}

std::string_view verb_of(const Action& action) {
  constexpr std::array<std::string_view, std::variant_size_v<Action>> kVerbs = {"create",       "update", "patch",
                                                                                "patch_status", "delete", "probe"};
  return kVerbs[action.index()];
}

std::string generated_name(std::string_view base, std::string_view owner_uid, std::string_view role,
                           std::uint64_t index, std::uint64_t attempt, std::size_t max_length) {
  const std::string hash = NameHash().mix(owner_uid).mix(role).mix(index).mix(attempt).text();
  std::string name(base.substr(0, max_length - hash.size() - 1));
  // A name may not have '.' before '-', and a cut may have left one at the end.
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
  return name + "-" + hash;
}

}  // namespace gangway::client
