#include "agent/network/host_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sys/files.h"

namespace gangway::agent {
namespace {

namespace fs = std::filesystem;

// Without sync: the folder is in memory, and is filled again after a restart.
Result<void> replace(const std::string& path, const std::string& fresh, const std::string& content) {
  std::ofstream file(fresh, std::ios::trunc | std::ios::binary);
  file << content;
  file.close();
  // dnsmasq does not run as we do, whatever our umask is.
  if (!file || ::chmod(fresh.c_str(), 0644) != 0 || std::rename(fresh.c_str(), path.c_str()) != 0)
    return internal_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  return {};
}

}  // namespace

void HostDirectory::read_present() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (auto content = sys::read_file(entry.path().string())) present_[entry.path().filename().string()] = *content;
  }
  known_ = true;
}

Result<std::size_t> HostDirectory::write(const HostFiles& files) {
  for (const auto& folder : {folder_, staging_}) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return internal_error(fmt::format("cannot make {}: {}", folder, error.message()));
    ::chmod(folder.c_str(), 0755);
  }
  if (!known_) read_present();
  std::size_t changed = 0;
  for (auto at = present_.begin(); at != present_.end();) {
    if (files.contains(at->first)) {
      ++at;
      continue;
    }
    std::remove((folder_ + "/" + at->first).c_str());
    at = present_.erase(at);
    ++changed;
  }
  for (const auto& [name, content] : files) {
    auto at = present_.find(name);
    if (at != present_.end() && at->second == content) continue;
    GW_CHECKED(replace(folder_ + "/" + name, staging_ + "/" + name, content));
    present_[name] = content;
    ++changed;
  }
  return changed;
}

}  // namespace gangway::agent
