// What requests to a node's endpoints ask for, and what answers their mistakes, as values. Pure.
//
// Mistakes are told in plain text, as kubelet does; API servers wrap it into a Status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/endpoints/pod_directory.h"
#include "base/result.h"
#include "sys/http.h"
#include "sys/url.h"

namespace gangway::agent {

// Which run's log is meant, or why there is none.
Result<ContainerId> log_source(const ServedPod& pod, std::string_view container, bool previous);

// The streams and the command of exec and attach. The container is left to the caller.
Result<ExecSpec> read_exec(const sys::Query& query, bool attach);

// The ports of a port-forward over WebSocket channels.
Result<std::vector<std::uint16_t>> read_ports(const sys::Query& query);

enum class UpgradeKind : std::uint8_t { kNone, kWebSocket, kSpdy };
UpgradeKind upgrade_kind(const sys::HttpHeaders& headers);
// Whether one of the header's values, comma-separated or repeated, is `name`.
bool offers(const sys::HttpHeaders& headers, std::string_view header, std::string_view name);

sys::HttpResponse text_answer(int status, std::string text, std::string content_type = "text/plain; charset=utf-8");
sys::HttpResponse error_answer(const Error& error);

}  // namespace gangway::agent
