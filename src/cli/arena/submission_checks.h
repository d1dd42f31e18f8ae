// What the checks of a submission share, and those that only one type of job has. Pure; for submission.cc.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "cli/arena/submission.h"

namespace gangway::cli::arena {

bool contains(const Strings& all, std::string_view one);

// All that is wrong, each with the flag that it is about.
struct Causes {
  std::vector<Cause> all;

  void add(std::string_view flag, std::string message);
  // The value, or nothing and one cause more.
  template <class T>
  std::optional<T> take(std::string_view flag, Result<T> result) {
    if (result) return std::move(*result);
    add(flag, std::move(result.error().message));
    return std::nullopt;
  }

  void at_least(std::string_view flag, std::int64_t value, std::int64_t least);
  void one_of(std::string_view flag, std::string_view value, std::initializer_list<std::string_view> words);
  void absolute(std::string_view flag, std::string_view path);
  // Nothing given is nothing wrong.
  void quantity(std::string_view flag, std::string_view text);
  void image(std::string_view flag, std::string_view text);
  std::optional<Duration> time(std::string_view flag, std::string_view text, bool may_be_zero);
};

using NameCheck = names::Messages (*)(std::string_view);
std::vector<KeyValue> read_pairs(std::string_view flag, const Strings& texts, NameCheck key, NameCheck value,
                                 Causes& causes);
std::vector<KeyValue> read_selector(std::string_view flag, const Strings& texts, Causes& causes);

// The flags that belong to the type of the job.
void check_type_flags(const SubmitFlags& flags, Submission& made, Causes& causes);

}  // namespace gangway::cli::arena
