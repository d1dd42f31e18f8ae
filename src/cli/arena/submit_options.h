// The flags of `arena submit TYPE`, bound to values. Nothing is judged here but that numbers are numbers.
#pragma once

#include "cli/arena/submit_flags.h"

namespace CLI {
class App;
}

namespace gangway::cli::arena {

// Those of all types, and those of the one that `flags.type` says. Sets the type's own defaults.
void add_submit_flags(CLI::App& command, SubmitFlags& flags);

}  // namespace gangway::cli::arena
