// Keys by which programs reach each other with ssh, as whoever hands them out sees them. The seam to crypto.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace gangway::sys {

struct SshKey {
  std::string private_pem;
  std::string public_line;  // for authorized_keys, with its end of line
};

// Makes one that nobody else has. From any thread.
using NewSshKey = std::function<Result<SshKey>()>;

}  // namespace gangway::sys
