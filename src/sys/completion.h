// Completion<T>: how an asynchronous call answers. Called exactly once, by post, never from inside the call itself.
#pragma once

#include <functional>

#include "base/result.h"

namespace gangway::sys {

template <class T>
using Completion = std::function<void(Result<T>)>;

}  // namespace gangway::sys
