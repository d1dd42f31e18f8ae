#include "agent/network/records.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

#include "sys/files.h"

namespace gangway::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".json";

}  // namespace

Result<void> make_run_directories(const NetworkLayout& layout) {
  for (const auto& folder : {layout.run_root, layout.run_dir(), layout.pods_dir(), layout.ipam_dir(),
                             layout.hosts_dir(), layout.staging_dir()}) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return internal_error(fmt::format("cannot make {}: {}", folder, error.message()));
    // dnsmasq does not run as we do, whatever our umask is.
    ::chmod(folder.c_str(), 0755);
  }
  return {};
}

Result<void> write_record(const NetworkLayout& layout, const std::string& uid, const Attachment& attachment) {
  return sys::atomic_write(layout.pod_record(uid), encode_attachment(attachment), 0600);
}

void remove_record(const NetworkLayout& layout, const std::string& uid) {
  std::remove(layout.pod_record(uid).c_str());
}

std::set<std::string> recorded_pods(const NetworkLayout& layout) {
  std::set<std::string> uids;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(layout.pods_dir(), error)) {
    auto name = entry.path().filename().string();
    if (name.ends_with(kEnding)) {
      uids.insert(name.substr(0, name.size() - kEnding.size()));
    } else {
      std::remove(entry.path().c_str());  // a write that was cut off
    }
  }
  return uids;
}

std::map<std::string, Attachment> read_records(const NetworkLayout& layout) {
  std::map<std::string, Attachment> records;
  for (const auto& uid : recorded_pods(layout)) {
    auto text = sys::read_file(layout.pod_record(uid));
    auto attachment = text ? decode_attachment(*text) : Result<Attachment>(text.error());
    if (attachment) records.emplace(uid, std::move(*attachment));
  }
  return records;
}

std::set<std::string> pods_with_addresses(const NetworkLayout& layout) {
  std::set<std::string> uids;
  std::error_code error;
  // One file an address; its first line is whose it is.
  for (const auto& entry : fs::directory_iterator(layout.ipam_dir() + "/" + layout.id, error)) {
    if (!parse_v4(entry.path().filename().string())) continue;
    auto text = sys::read_file(entry.path().string());
    if (text) uids.insert(text->substr(0, text->find_first_of("\r\n")));
  }
  return uids;
}

}  // namespace gangway::agent
