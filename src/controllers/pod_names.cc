#include "controllers/pod_names.h"

#include "client/name_hash.h"

namespace gangway::controllers {
namespace {

using client::kNameAlphabet;

constexpr std::size_t kDigits = 5;
constexpr std::size_t kLongestBase = 58;  // Kubernetes', so that the name is also a valid label

// Of a number that kCount, a power of three, has no divisor in common with. By Euler: φ(3^15) = 2·3^14.
std::uint64_t inverse(std::uint64_t value) {
  std::uint64_t exponent = PodNames::kCount / 3 * 2 - 1;
  std::uint64_t result = 1;
  for (std::uint64_t power = value; exponent > 0; exponent /= 2, power = power * power % PodNames::kCount)
    if (exponent % 2 == 1) result = result * power % PodNames::kCount;
  return result;
}

}  // namespace

PodNames::PodNames(std::string_view set_name, std::string_view set_uid) {
  base_ = std::string(set_name) + "-";
  if (base_.size() > kLongestBase) base_.resize(kLongestBase);
  const std::uint64_t hash = client::NameHash().mix("pods").mix(set_uid).value();
  step_ = hash % kCount;
  if (step_ % 3 == 0) step_ += 1;
  back_ = inverse(step_);
  offset_ = (hash >> 32) % kCount;
}

std::string PodNames::name(std::uint64_t number) const {
  std::uint64_t rest = (number % kCount * step_ + offset_) % kCount;
  std::string name = base_;
  for (std::size_t i = 0; i < kDigits; ++i, rest /= kNameAlphabet.size())
    name += kNameAlphabet[rest % kNameAlphabet.size()];
  return name;
}

std::optional<std::uint64_t> PodNames::number(std::string_view name) const {
  if (name.size() != base_.size() + kDigits || !name.starts_with(base_)) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = name.size(); i > base_.size(); --i) {
    const auto digit = kNameAlphabet.find(name[i - 1]);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * kNameAlphabet.size() + digit;
  }
  return (value + kCount - offset_) % kCount * back_ % kCount;
}

}  // namespace gangway::controllers
