#include "failure.h"

#include <fmt/format.h>

#include <cstdio>

namespace gangway {

int fail(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.message);
  for (const auto& cause : error.causes) {
    fmt::print(stderr, "  {}{}{}\n", cause.field, cause.field.empty() ? "" : ": ", cause.message);
  }
  return kFailed;
}

}  // namespace gangway
