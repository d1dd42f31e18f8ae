// PodNames: the names of the interchangeable pods of one set, "web-x2k4p", by number.
//
// A name is an idempotency key, so it follows from the set and a number and not from chance; and it can be turned back
// into its number, so that a set knows which numbers its pods have without writing them down. The numbers of a set
// that are near each other have names that are not. Pure; what it yields must never change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::controllers {

class PodNames {
 public:
  // How many names a set has; number n and n + kCount have the same.
  static constexpr std::uint64_t kCount = 27ULL * 27 * 27 * 27 * 27;

  PodNames(std::string_view set_name, std::string_view set_uid);

  std::string name(std::uint64_t number) const;
  // None for a name that is not one of these, as of an adopted pod.
  std::optional<std::uint64_t> number(std::string_view name) const;

 private:
  std::string base_;  // with its '-'
  std::uint64_t step_ = 1;
  std::uint64_t back_ = 1;  // step_ · back_ = 1 (mod kCount)
  std::uint64_t offset_ = 0;
};

}  // namespace gangway::controllers
