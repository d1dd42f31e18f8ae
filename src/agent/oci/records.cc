#include "agent/oci/records.h"

#include <algorithm>
#include <charconv>

#include "json/access.h"
#include "json/value.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

using json::Object;
using json::Value;

constexpr std::int64_t kVersion = 1;

Object encode_pod(const PodIdentity& pod) {
  return {{"uid", pod.uid}, {"namespace", pod.ns}, {"name", pod.name}, {"node", pod.node}};
}

PodIdentity decode_pod(const Value& value) {
  return {.uid = std::string(json::string_at(value, {"pod", "uid"})),
          .ns = std::string(json::string_at(value, {"pod", "namespace"})),
          .name = std::string(json::string_at(value, {"pod", "name"})),
          .node = std::string(json::string_at(value, {"pod", "node"}))};
}

Result<Value> parse_record(std::string_view text) {
  GW_TRY(auto value, json::parse(text));
  if (json::int_at(value, {"version"}) != kVersion) return bad_request("not a record of this version");
  return value;
}

}  // namespace

std::string encode(const SandboxRecord& record) {
  json::Array addresses;
  for (const auto& address : record.addresses) addresses.emplace_back(address);
  return json::serialize(Object{{"version", kVersion},
                                {"pod", encode_pod(record.pod)},
                                {"hostname", record.hostname},
                                {"hostNetwork", record.host_network},
                                {"hostPID", record.host_pid},
                                {"hostIPC", record.host_ipc},
                                {"shareProcesses", record.share_processes},
                                {"netns", record.netns},
                                {"addresses", std::move(addresses)},
                                {"holder", record.holder},
                                {"holderTicks", record.holder_ticks}});
}

std::string encode(const ContainerRecord& record) {
  return json::serialize(Object{{"version", kVersion},
                                {"pod", encode_pod(record.pod)},
                                {"container", record.id.container},
                                {"attempt", record.id.attempt},
                                {"ownProcesses", record.own_processes},
                                {"image", record.image},
                                {"messageFromLog", record.message_from_log}});
}

std::string encode(const StartedRecord& record) {
  return json::serialize(Object{{"version", kVersion},
                                {"pid", record.pid},
                                {"ticks", record.ticks},
                                {"boot", record.boot},
                                {"at", record.at.time_since_epoch().count()}});
}

Result<SandboxRecord> decode_sandbox(std::string_view text) {
  GW_TRY(const auto value, parse_record(text));
  return SandboxRecord{.pod = decode_pod(value),
                       .hostname = std::string(json::string_at(value, {"hostname"})),
                       .host_network = json::bool_at(value, {"hostNetwork"}),
                       .host_pid = json::bool_at(value, {"hostPID"}),
                       .host_ipc = json::bool_at(value, {"hostIPC"}),
                       .share_processes = json::bool_at(value, {"shareProcesses"}),
                       .netns = std::string(json::string_at(value, {"netns"})),
                       .addresses = json::strings_at(value, {"addresses"}),
                       .holder = static_cast<pid_t>(json::int_at(value, {"holder"})),
                       .holder_ticks = static_cast<std::uint64_t>(json::int_at(value, {"holderTicks"}))};
}

Result<ContainerRecord> decode_container(std::string_view text) {
  GW_TRY(const auto value, parse_record(text));
  ContainerRecord record;
  record.pod = decode_pod(value);
  record.id = {.pod_uid = record.pod.uid,
               .container = std::string(json::string_at(value, {"container"})),
               .attempt = static_cast<unsigned>(json::int_at(value, {"attempt"}))};
  record.own_processes = json::bool_at(value, {"ownProcesses"}, true);
  record.image = json::string_at(value, {"image"});
  record.message_from_log = json::bool_at(value, {"messageFromLog"});
  return record;
}

Result<StartedRecord> decode_started(std::string_view text) {
  GW_TRY(const auto value, parse_record(text));
  return StartedRecord{.pid = static_cast<pid_t>(json::int_at(value, {"pid"})),
                       .ticks = static_cast<std::uint64_t>(json::int_at(value, {"ticks"})),
                       .boot = std::string(json::string_at(value, {"boot"})),
                       .at = WallTime(Duration(json::int_at(value, {"at"})))};
}

std::uint64_t start_ticks(std::string_view stat) {
  // The command, in brackets, may hold anything; the fields after the last bracket are counted from the third.
  const auto bracket = stat.rfind(')');
  if (bracket == std::string_view::npos || stat.size() < bracket + 3) return 0;
  auto rest = stat.substr(bracket + 2);
  if (rest.starts_with('Z') || rest.starts_with('X')) return 0;
  for (int field = 3; field < 22; ++field) {
    const auto space = rest.find(' ');
    if (space == std::string_view::npos) return 0;
    rest.remove_prefix(space + 1);
  }
  std::uint64_t ticks = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), ticks);
  return ticks;
}

std::string boot_id() {
  auto id = sys::read_file("/proc/sys/kernel/random/boot_id").value_or("");
  std::erase(id, '\n');
  return id;
}

std::uint64_t start_ticks_of(pid_t pid) {
  return start_ticks(sys::read_file("/proc/" + std::to_string(pid) + "/stat").value_or(""));
}

}  // namespace gangway::agent::oci
