#include "jobs/ray_dashboard.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <utility>

#include "jobs/ray_job_objects.h"

namespace gangway::jobs {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 5s;
constexpr std::string_view kTaken = "Please use a different submission_id";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

std::string encoded(std::string_view text) {
  std::string path;
  for (const char c : text)
    path += is_plain(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return path;
}

client::Probe question(std::string_view name, const RayHeadAddress& head, const char* method, std::string path,
                       json::Value body = nullptr) {
  return {std::string(name), json::Object{{"host", head.host},
                                          {"port", head.port},
                                          {"method", method},
                                          {"path", std::move(path)},
                                          {"body", std::move(body)}}};
}

std::optional<WallTime> time_in(const json::Value& body, std::string_view key) {
  const std::int64_t milliseconds = json::integer_at(body, {key});
  if (milliseconds <= 0) return std::nullopt;
  // Statuses have whole seconds.
  return WallTime(std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(milliseconds)));
}

json::Value silence(std::string_view why) {
  return json::Object{{"silent", why}};
}

std::string text_of(const json::Value& answer) {
  const json::Value* body = json::find(answer, {"body"});
  if (body == nullptr) return {};
  return body->is_string() ? std::string(json::string_at(*body, {})) : json::serialize(*body);
}

}  // namespace

client::Probe ask_ray_status(const RayHeadAddress& head, const RayJob& job) {
  return question(kAskRayStatus, head, "GET", "/api/jobs/" + encoded(job.record.job_id));
}

client::Probe ask_ray_to_submit(const RayHeadAddress& head, const RayJob& job) {
  return question(kAskRaySubmit, head, "POST", "/api/jobs/", ray_submission_body(job));
}

client::Probe ask_ray_to_stop(const RayHeadAddress& head, const RayJob& job) {
  return question(kAskRayStop, head, "POST", fmt::format("/api/jobs/{}/stop", encoded(job.record.job_id)));
}

RayProgram read_ray_status(const Result<json::Value>& answer) {
  RayProgram program;
  if (!answer) {
    program.message = answer.error().message;
    return program;
  }
  if (const std::string_view why = json::string_at(*answer, {"silent"}); !why.empty()) {
    program.message = why;
    return program;
  }
  const std::int64_t code = json::integer_at(*answer, {"status"});
  if (code == 404) {
    program.kind = RayProgram::Kind::kNotThere;
    return program;
  }
  const json::Value* body = json::find(*answer, {"body"});
  const std::string_view status = body == nullptr ? std::string_view() : json::string_at(*body, {"status"});
  if (code != 200 || status.empty()) {
    program.message = fmt::format("the dashboard answered {}: {}", code, text_of(*answer).substr(0, 200));
    return program;
  }
  program.kind = RayProgram::Kind::kKnown;
  program.status = status;
  program.message = json::string_at(*body, {"message"});
  program.started = time_in(*body, "start_time");
  program.ended = time_in(*body, "end_time");
  return program;
}

Result<void> read_ray_submission(const Result<json::Value>& answer) {
  if (!answer || json::find(*answer, {"silent"}) != nullptr) return {};  // asked again
  const std::int64_t code = json::integer_at(*answer, {"status"});
  const std::string text = text_of(*answer);
  // Handed over before, by us: the answer was lost.
  if (text.find(kTaken) != std::string::npos) return {};
  if (code < 400 || code >= 500) return {};
  return bad_request(fmt::format("the dashboard refused the job ({}): {}", code, text.substr(0, 500)));
}

bool is_pod_address(const std::string& host) {
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) {
    const std::uint32_t number = ntohl(four.s_addr);
    const std::uint32_t first = number >> 24;
    // This network, loopback, the link (where clouds keep secrets), multicast and above.
    return first != 0 && first != 127 && (number >> 16) != 0xa9fe && first < 224;
  }
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) != 1) return false;
  return !IN6_IS_ADDR_LOOPBACK(&six) && !IN6_IS_ADDR_UNSPECIFIED(&six) && !IN6_IS_ADDR_LINKLOCAL(&six) &&
         !IN6_IS_ADDR_MULTICAST(&six) && !IN6_IS_ADDR_V4MAPPED(&six);
}

void RayDashboard::ask(const client::Probe& probe, sys::Completion<json::Value> done) {
  const json::Value& asked = probe.question;
  sys::FetchRequest request;
  request.host = json::string_at(asked, {"host"});
  const std::int64_t port = json::integer_at(asked, {"port"});
  if (fetch_ == nullptr || !is_pod_address(request.host) || port < 1 || port > 65535) {
    loop_.post([done = std::move(done)] { done(silence("it has no address that can be asked")); });
    return;
  }
  request.port = static_cast<std::uint16_t>(port);
  request.method = json::string_at(asked, {"method"});
  request.path = json::string_at(asked, {"path"});
  request.timeout = kPatience;
  if (const json::Value* body = json::find(asked, {"body"}); body != nullptr && !body->is_null()) {
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = json::serialize(*body);
  }
  fetch_->fetch(std::move(request), [done = std::move(done)](Result<sys::FetchAnswer> answer) {
    if (!answer) return done(silence(answer.error().message));
    auto body = json::parse(answer->body);
    done(json::Object{{"status", answer->status}, {"body", body ? std::move(*body) : json::Value(answer->body)}});
  });
}

}  // namespace gangway::jobs
