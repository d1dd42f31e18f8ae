// Asking a running server of this machine, as its administrator.
#pragma once

#include <string>

#include "cli/data_dir.h"
#include "json/value.h"

namespace gangway {

// GETs a path of the server that runs on the data directory, or POSTs `body` to it when there is one. An error says
// when none runs.
Result<json::Value> ask_server(const cli::DataDir& data, const std::string& path, const json::Value* body = nullptr);

}  // namespace gangway
