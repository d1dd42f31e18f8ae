// How commands say that they failed.
#pragma once

#include "base/error.h"

namespace gangway {

inline constexpr int kFailed = 1;

// Prints the error with its causes; returns kFailed.
int fail(const Error& error);

}  // namespace gangway
