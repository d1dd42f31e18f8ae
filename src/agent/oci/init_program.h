// The bytes of gangway-init (apps/gangway-init), the program that is PID 1 of every container.
#pragma once

#include <string_view>

namespace gangway::agent::oci {

std::string_view init_program();

}  // namespace gangway::agent::oci
