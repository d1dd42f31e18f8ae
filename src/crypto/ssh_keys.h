// Keys for ssh. Pure but for the key generator's randomness; usable from any thread. One costs about a millisecond.
#pragma once

#include "base/result.h"
#include "sys/ssh_keys.h"

namespace gangway::crypto {

// EC P-521: the private half as SEC1 PEM ("EC PRIVATE KEY"), the public one as ssh writes it ("ecdsa-sha2-nistp521 …").
Result<sys::SshKey> new_ssh_key();

}  // namespace gangway::crypto
