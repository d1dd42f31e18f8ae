// arena list --watch.
#pragma once

#include <string>

#include "arena_session.h"
#include "cli/arena/print_jobs.h"

namespace gangway::arena {

// Until it is interrupted. `output`: "", "wide", or "json" and "yaml" for a document each time a job changes.
Result<void> watch_list(Session& session, const Session::What& what, cli::arena::ListLayout layout,
                        const std::string& output);

}  // namespace gangway::arena
