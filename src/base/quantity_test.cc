#include "base/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace gangway {
namespace {

constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
constexpr auto kMin = std::numeric_limits<std::int64_t>::min();

Quantity quantity(std::string_view text) {
  auto parsed = Quantity::parse(text);
  EXPECT_TRUE(parsed) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : Quantity();
}

// The texts are what kube-apiserver answers for these inputs.
TEST(QuantityTest, ReadsAndWritesAsTheServerDoes) {
  struct Case {
    const char* text;
    const char* want;
    const char* canonical;
    std::int64_t value;
    std::int64_t milli;
  };
  const Case cases[] = {
      {"0", "0", "0", 0, 0},
      {"-0", "0", "0", 0, 0},
      {"00", "0", "0", 0, 0},
      {".", "0", "0", 0, 0},
      {"+", "0", "0", 0, 0},
      {"Ki", "0", "0", 0, 0},
      {"e3", "0", "0", 0, 0},
      {"0Ki", "0", "0", 0, 0},
      {"1", "1", "1", 1, 1000},
      {"-1", "-1", "-1", -1, -1000},
      {"+1", "+1", "1", 1, 1000},
      {"1.", "1.", "1", 1, 1000},
      {"01", "01", "1", 1, 1000},
      {"007Mi", "007Mi", "7Mi", 7340032, 7340032000},
      {".5", "500m", "500m", 1, 500},
      {"1.5", "1500m", "1500m", 2, 1500},
      {"1.500", "1.500", "1500m", 2, 1500},
      {"1.5000", "1500m", "1500m", 2, 1500},
      {"1.000", "1", "1", 1, 1000},
      {"100m", "100m", "100m", 1, 100},
      {"1000m", "1", "1", 1, 1000},
      {"0.0001", "100u", "100u", 1, 1},
      {"0.00000000001", "1n", "1n", 1, 1},
      {"1.000001", "1.000001", "1000001u", 2, 1001},
      {"123456789.123456789123", "123456789123456790n", "123456789123456790n", 123456790, 123456789124},
      {"1e3", "1e3", "1e3", 1000, 1000000},
      {"1E3", "1E3", "1e3", 1000, 1000000},
      {"1e+3", "1e+3", "1e3", 1000, 1000000},
      {"1e4", "10e3", "10e3", 10000, 10000000},
      {"100e1", "1e3", "1e3", 1000, 1000000},
      {"1e-4", "100e-6", "100e-6", 1, 1},
      {"1e-12", "1e-9", "1e-9", 1, 1},
      {"1e1000", "10e999", "10e999", kMax, kMax},
      {"1000k", "1M", "1M", 1000000, 1000000000},
      {"1000001", "1000001", "1000001", 1000001, 1000001000},
      {"1.25k", "1250", "1250", 1250, 1250000},
      {"1024", "1024", "1024", 1024, 1024000},
      {"1024Ki", "1Mi", "1Mi", 1048576, 1048576000},
      {"8Ki", "8Ki", "8Ki", 8192, 8192000},
      {"1536Mi", "1536Mi", "1536Mi", 1610612736, 1610612736000},
      {"1.5Gi", "1536Mi", "1536Mi", 1610612736, 1610612736000},
      {"0.5Ki", "512", "512", 512, 512000},
      {"1.1Ki", "1126400m", "1126400m", 1127, 1126400},
      {"0.0001Ki", "102400u", "102400u", 1, 103},
      {"-1.5Ki", "-1536", "-1536", -1536, -1536000},
      {"-1024Ki", "-1Mi", "-1Mi", -1048576, -1048576000},
      {"4.5Pi", "4608Ti", "4608Ti", 5066549580791808, 5066549580791808000},
      {"7Ei", "7Ei", "7Ei", 8070450532247928832, kMax},
      {"8Ei", "9223372036854775807", "9223372036854775807", kMax, kMax},
      {"-8Ei", "-9223372036854775807", "-9223372036854775807", -kMax, kMin},
      {"10E", "10E", "10E", kMax, kMax},
      {"-1.5", "-1500m", "-1500m", -2, -1500},
      {"-0.1n", "-1n", "-1n", -1, -1},
      {"9223372036854775807", "9223372036854775807", "9223372036854775807", kMax, kMax},
      {"123456789012345678901234567890", "123456789012345678901234567890", "123456789012345678901234567890", kMax,
       kMax},
  };
  for (const auto& c : cases) {
    auto q = quantity(c.text);
    EXPECT_EQ(q.to_string(), c.want) << c.text;
    EXPECT_EQ(q.canonical(), c.canonical) << c.text;
    EXPECT_EQ(q.value(), c.value) << c.text;
    EXPECT_EQ(q.milli_value(), c.milli) << c.text;
  }
}

TEST(QuantityTest, KeepsTheZerosOfWhatNoSuffixReaches) {
  EXPECT_EQ(quantity("1000E").to_string(), "1000E");
  EXPECT_EQ(quantity("1000000000000000000000").to_string(), "1000E");
  auto sum = quantity("4Ei");
  for (int i = 0; i < 8; ++i) sum += Quantity(sum);
  EXPECT_EQ(sum.to_string(), "1024Ei");
}

TEST(QuantityTest, RefusesWhatTheServerRefuses) {
  const std::string format =
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const std::string number = "unable to parse numeric part of quantity";
  const std::string suffix = "unable to parse quantity's suffix";
  const std::pair<std::string, std::string> cases[] = {
      {"", format},
      {"a", format},
      {"1a", format},
      {" 1", format},
      {"1 ", format},
      {"1_000", format},
      {"0x10", format},
      {"1..5", format},
      {"1.5.5", format},
      {"1e3e", format},
      {"e-10", number},
      {".e-10", number},
      {"1e", suffix},
      {"1K", suffix},
      {"1ki", suffix},
      {"1Kii", suffix},
      {"1-3", suffix},
      {"1i", suffix},
      {"1Mim", suffix},
      {"1e+", suffix},
      {"1e1001", suffix},
      {"1e99999999999999999999", suffix},
      {std::string(513, '1'), format},
      {std::string("1\0", 2), format},
  };
  for (const auto& [text, message] : cases) {
    auto parsed = Quantity::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message, message) << text;
  }
}

TEST(QuantityTest, AddsAndSubtractsInTheFormatOfTheLeftSide) {
  struct Case {
    const char* left;
    const char* right;
    const char* sum;
    const char* difference;
  };
  const Case cases[] = {
      {"1Gi", "1Gi", "2Gi", "0"},
      {"0", "1Gi", "1Gi", "-1Gi"},
      {"1Gi", "1G", "2073741824", "73741824"},
      {"1", "500m", "1500m", "500m"},
      {"500m", "1", "1500m", "-500m"},
      {"1e3", "1", "1001", "999"},
      {"-1", "1", "0", "-2"},
      {"1Mi", "1Ki", "1025Ki", "1023Ki"},
      {"9223372036854775807", "1", "9223372036854775808", "9223372036854775806"},
      {"1E", "1n", "1000000000000000000000000001n", "999999999999999999999999999n"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ((quantity(c.left) + quantity(c.right)).to_string(), c.sum) << c.left << " + " << c.right;
    EXPECT_EQ((quantity(c.left) - quantity(c.right)).to_string(), c.difference) << c.left << " - " << c.right;
  }
}

TEST(QuantityTest, ComparesAmounts) {
  EXPECT_EQ(quantity("1Ki"), quantity("1024"));
  EXPECT_EQ(quantity("1000m"), quantity("1"));
  EXPECT_LT(quantity("999m"), quantity("1"));
  EXPECT_LT(quantity("-2"), quantity("-1"));
  EXPECT_LT(quantity("-1"), quantity("1n"));
  EXPECT_LT(quantity("1G"), quantity("1Gi"));
  EXPECT_LT(quantity("9E"), quantity("1e1000"));
  EXPECT_GT(quantity("1n"), quantity("0"));
}

std::string any_quantity_text() {
  auto sign = *rc::gen::element<std::string>("", "+", "-");
  auto whole = std::to_string(*rc::gen::arbitrary<std::uint64_t>());
  auto fraction = *rc::gen::oneOf(
      rc::gen::just(std::string()),
      rc::gen::map(rc::gen::arbitrary<std::uint32_t>(), [](std::uint32_t f) { return "." + std::to_string(f); }));
  auto suffix = *rc::gen::element<std::string>("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti",
                                               "Pi", "Ei", "e3", "E-5", "e+7", "e0");
  return sign + whole + fraction + suffix;
}

TEST(QuantityTest, ABinaryAmountWithoutASuffixReadsAsADecimalOne) {
  EXPECT_EQ(quantity("1937.5Ki").canonical(), "1984000");
  EXPECT_EQ(quantity("1984000").canonical(), "1984k");
}

RC_GTEST_PROP(QuantityTest, TheCanonicalFormIsReadBackAsItself, ()) {
  auto q = quantity(any_quantity_text());
  auto text = q.canonical();
  auto again = quantity(text);
  // A binary amount that no binary suffix fits is written without one: it reads as a decimal amount with its own form.
  if (text.back() < '0' || text.back() > '9') RC_ASSERT(again.canonical() == text);
  RC_ASSERT(quantity(again.canonical()).canonical() == again.canonical());
  // What is written is what is read, but for binary amounts that one of the caps of parsing meets.
  if (q.format() != Quantity::Format::kBinarySi) RC_ASSERT(again == q);
}

RC_GTEST_PROP(QuantityTest, OrderAndSumsAgreeWithIntegers, (std::int32_t a, std::int32_t b)) {
  auto qa = Quantity::of_milli(a);
  auto qb = Quantity::of_milli(b);
  RC_ASSERT((qa <=> qb) == (a <=> b));
  RC_ASSERT((qa + qb).milli_value() == std::int64_t{a} + b);
  RC_ASSERT((qa - qb).milli_value() == std::int64_t{a} - b);
  RC_ASSERT(quantity(qa.to_string()).milli_value() == a);
  RC_ASSERT((qa < qb) == ((qb - qa) > Quantity()));
}

RC_GTEST_PROP(QuantityTest, NoTextBreaksTheParser, (const std::string& text)) {
  auto parsed = Quantity::parse(text);
  if (parsed) RC_ASSERT(Quantity::parse(parsed->canonical()).has_value());
}

}  // namespace
}  // namespace gangway
