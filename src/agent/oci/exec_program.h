// The bytes of gangway-exec (apps/gangway-exec), by which a program in a container runs commands in other pods.
#pragma once

#include <string_view>

namespace gangway::agent::oci {

std::string_view exec_program();

}  // namespace gangway::agent::oci
