// Result<T>: a value or an Error. What every function that can fail returns; exceptions do not cross modules.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "base/error.h"

namespace gangway {

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}  // NOLINT: an Error is a Result
};

}  // namespace gangway

#define GW_CONCAT_INNER(a, b) a##b
#define GW_CONCAT(a, b) GW_CONCAT_INNER(a, b)

// GW_TRY(auto x, f()): x is f()'s value, or the enclosing function returns f()'s error.
#define GW_TRY(declaration, expression)                                                                        \
  auto GW_CONCAT(gw_try_, __LINE__) = (expression);                                                            \
  if (!GW_CONCAT(gw_try_, __LINE__)) return ::gangway::Error(std::move(GW_CONCAT(gw_try_, __LINE__)).error()); \
  declaration = std::move(*GW_CONCAT(gw_try_, __LINE__))

// GW_CHECKED(f()): for a Result<void>; the enclosing function returns f()'s error, if there is one.
#define GW_CHECKED(expression)                                               \
  do {                                                                       \
    auto gw_checked = (expression);                                          \
    if (!gw_checked) return ::gangway::Error(std::move(gw_checked).error()); \
  } while (false)
