// GW_CHECK guards an invariant of our own code. It is never reachable by what a user sends.
#pragma once

namespace gangway {

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace gangway

#define GW_CHECK(expression) \
  ((expression) ? static_cast<void>(0) : ::gangway::check_failed(#expression, __FILE__, __LINE__))
