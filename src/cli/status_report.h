// `gangway status` for people: the server's own report as text.
#pragma once

#include <string>

#include "json/value.h"

namespace gangway::cli {

// `status` is what /gangway/status answers: {version, url, dataDir, uptimeSeconds, parts, nodes, store, loops}.
std::string status_report(const json::Value& status);

}  // namespace gangway::cli
