#include "agent/oci/exec_program.h"

#include <cstddef>

// The assembler reads the file: a compiler would take minutes for as many numbers.
asm(".section .rodata\n"
    "gangway_exec_program_begin:\n"
    ".incbin \"" GANGWAY_EXEC_FILE
    "\"\n"
    "gangway_exec_program_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const char gangway_exec_program_begin[];
extern const char gangway_exec_program_end[];
}

namespace gangway::agent::oci {

std::string_view exec_program() {
  return {gangway_exec_program_begin, static_cast<std::size_t>(gangway_exec_program_end - gangway_exec_program_begin)};
}

}  // namespace gangway::agent::oci
