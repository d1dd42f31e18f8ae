#include "agent/endpoints/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace gangway::agent {
namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return out;
}

// "a, b" as its parts.
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  while (!list.empty()) {
    auto part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    parts.push_back(part.substr(0, part.find_last_not_of(' ') + 1));
  }
  return parts;
}

std::string why_waiting(std::string_view reason) {
  if (reason == "ErrImagePull") return "image can't be pulled";
  if (reason == "ImagePullBackOff") return "trying and failing to pull image";
  return std::string(reason);
}

}  // namespace

Result<ContainerId> log_source(const ServedPod& pod, std::string_view container, bool previous) {
  const auto found = std::find_if(pod.containers.begin(), pod.containers.end(),
                                  [&](const ServedContainer& c) { return c.name == container; });
  const auto& name = pod.identity.name;
  if (found == pod.containers.end())
    return bad_request(fmt::format("container \"{}\" in pod \"{}\" is not available", container, name));
  if (previous) {
    if (found->last) return *found->last;
    return bad_request(fmt::format("previous terminated container \"{}\" in pod \"{}\" not found", container, name));
  }
  if (found->current) return *found->current;
  if (found->last) return *found->last;
  if (found->waiting_reason.empty())
    return bad_request(
        fmt::format("container \"{}\" in pod \"{}\" is waiting to start - no logs yet", container, name));
  return bad_request(fmt::format("container \"{}\" in pod \"{}\" is waiting to start: {}", container, name,
                                 why_waiting(found->waiting_reason)));
}

Result<ExecSpec> read_exec(const sys::Query& query, bool attach) {
  ExecSpec spec;
  spec.stdin_open = query.flag("input");
  spec.out = query.flag("output");
  spec.err = query.flag("error");
  spec.terminal = query.flag("tty");
  // A terminal has one output.
  if (spec.terminal) spec.err = false;
  if (!spec.stdin_open && !spec.out && !spec.err)
    return bad_request("you must specify at least 1 of stdin, stdout, stderr");
  if (attach) return spec;
  for (const auto word : query.all("command")) spec.command.emplace_back(word);
  if (spec.command.empty()) return bad_request("you must specify a command");
  return spec;
}

Result<std::vector<std::uint16_t>> read_ports(const sys::Query& query) {
  std::vector<std::uint16_t> ports;
  for (const auto list : query.all("port")) {
    for (const auto text : parts_of(list)) {
      std::uint16_t port = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
      if (error != std::errc() || end != text.data() + text.size() || port == 0)
        return bad_request(fmt::format("\"{}\" is not a port from 1 to 65535", text));
      ports.push_back(port);
    }
  }
  if (ports.empty()) return bad_request("query parameter \"port\" is required");
  // Channels are one byte, and each port has two.
  if (ports.size() > 127) return bad_request("at most 127 ports can be forwarded over one connection");
  return ports;
}

bool offers(const sys::HttpHeaders& headers, std::string_view header, std::string_view name) {
  const auto values = headers.all(header);
  return std::any_of(values.begin(), values.end(), [&](std::string_view list) {
    const auto parts = parts_of(list);
    return std::find(parts.begin(), parts.end(), name) != parts.end();
  });
}

UpgradeKind upgrade_kind(const sys::HttpHeaders& headers) {
  if (lower_case(headers.get("Connection")).find("upgrade") == std::string::npos) return UpgradeKind::kNone;
  const auto wanted = lower_case(headers.get("Upgrade"));
  if (wanted.find("websocket") != std::string::npos) return UpgradeKind::kWebSocket;
  return wanted.find("spdy/3.1") != std::string::npos ? UpgradeKind::kSpdy : UpgradeKind::kNone;
}

sys::HttpResponse text_answer(int status, std::string text, std::string content_type) {
  sys::HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", std::move(content_type));
  response.body.push_back(sys::make_buffer(std::move(text)));
  return response;
}

sys::HttpResponse error_answer(const Error& error) {
  return text_answer(http_status(error.reason), error.message);
}

}  // namespace gangway::agent
