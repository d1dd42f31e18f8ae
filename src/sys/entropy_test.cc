#include "sys/entropy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace gangway::sys {
namespace {

// Gives the bytes 0, 1, 2, … in turn.
class CountingEntropy final : public Entropy {
 public:
  void fill(std::span<std::byte> out) override {
    for (auto& byte : out) byte = std::byte{next_++};
  }

 private:
  unsigned char next_ = 0;
};

TEST(Entropy, AUidIsAVersion4Uuid) {
  CountingEntropy entropy;
  EXPECT_EQ(new_uid(entropy), "00010203-0405-4607-8809-0a0b0c0d0e0f");
  EXPECT_EQ(new_uid(entropy), "10111213-1415-4617-9819-1a1b1c1d1e1f");
}

TEST(Entropy, ANameSuffixUsesTheAlphabetEvenly) {
  CountingEntropy entropy;
  EXPECT_EQ(name_suffix(entropy, 28), "bcdfghjklmnpqrstvwxz2456789b");
  // 256 bytes in a row give each letter 9 times; the 13 bytes that are left over give none.
  CountingEntropy fresh;
  const std::string all = name_suffix(fresh, 243);
  for (const char letter : std::string("bcdfghjklmnpqrstvwxz2456789"))
    EXPECT_EQ(std::count(all.begin(), all.end(), letter), 9) << letter;
}

TEST(Entropy, TheKernelDoesNotRepeatItself) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(new_uid(system_entropy()));
  EXPECT_EQ(seen.size(), 1000U);
}

}  // namespace
}  // namespace gangway::sys
