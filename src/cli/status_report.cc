#include "cli/status_report.h"

#include <fmt/format.h>

#include "base/time.h"

namespace gangway::cli {
namespace {

std::int64_t number(const json::Value& value, std::initializer_list<std::string_view> path) {
  const auto* found = json::find(value, path);
  if (!found || !found->is_number()) return 0;
  boost::system::error_code error;
  auto out = found->to_number<std::int64_t>(error);
  return error ? 0 : out;
}

const json::Array& list(const json::Value& value, std::string_view key) {
  static const json::Array empty;
  const auto* found = json::find(value, {key});
  return found && found->is_array() ? found->get_array() : empty;
}

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

// "2027-11-17": nobody plans by the hour when a certificate has to be renewed.
std::string_view day(const json::Value& status, std::string_view certificate) {
  return json::string_at(status, {"certificatesEnd", certificate}).substr(0, 10);
}

}  // namespace

std::string status_report(const json::Value& status) {
  auto text =
      fmt::format("Gangway {}, as Kubernetes {}, at {}, up for {}\n", json::string_at(status, {"version", "gangway"}),
                  json::string_at(status, {"version", "kubernetes"}), json::string_at(status, {"url"}),
                  human_duration(std::chrono::seconds(number(status, {"uptimeSeconds"}))));
  text += fmt::format("Data     {}\n", json::string_at(status, {"dataDir"}));
  text += fmt::format("Memory   {}\n", mebibytes(number(status, {"memoryBytes"})));
  text += fmt::format("Certs    the server's until {}, the administrator's until {}, the authority until {}\n\n",
                      day(status, "server"), day(status, "admin"), day(status, "authority"));
  text += fmt::format("{:<36}{:<10}{}\n", "PART", "STATE", "DETAIL");
  for (const auto& part : list(status, "parts")) {
    text += fmt::format("{:<36}{:<10}{}\n", json::string_at(part, {"name"}), json::string_at(part, {"state"}),
                        json::string_at(part, {"detail"}));
  }
  text += fmt::format("\nNodes    {} of {} ready\n", number(status, {"nodes", "ready"}),
                      number(status, {"nodes", "total"}));
  text += fmt::format("Store    {} objects at revision {}, {} on disk, {} commits in {} fsyncs, {} waiting\n",
                      number(status, {"store", "objects"}), number(status, {"store", "revision"}),
                      mebibytes(number(status, {"store", "diskBytes"})), number(status, {"store", "commits"}),
                      number(status, {"store", "syncs"}), number(status, {"store", "pending"}));
  for (const auto& loop : list(status, "loops")) {
    text += fmt::format("Loop     {:<12} answered a tick in {} us\n", json::string_at(loop, {"name"}),
                        number(loop, {"lagMicroseconds"}));
  }
  return text;
}

}  // namespace gangway::cli
