#include "agent/oci/log_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>

#include "agent/oci/file_times.h"
#include "agent/oci/mounts.h"
#include "json/value.h"
#include "sys/file_descriptor.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> result;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  if (!open) return result;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") result.push_back(folder + "/" + std::string(name));
  }
  return result;
}

// Two levels: the pod's own files and those of its containers.
WallTime newest_in(const std::string& folder, int levels = 2) {
  WallTime newest;
  for (const auto& path : files_in(folder)) {
    struct stat facts{};
    if (::lstat(path.c_str(), &facts) != 0) continue;
    newest = std::max(newest, written_at(facts));
    if (S_ISDIR(facts.st_mode) && levels > 1) newest = std::max(newest, newest_in(path, levels - 1));
  }
  return newest;
}

}  // namespace

std::string rotated_name(std::string_view log, WallTime now) {
  return fmt::format("{}.{}", log, std::chrono::floor<std::chrono::microseconds>(now).time_since_epoch().count());
}

std::vector<std::string> surplus_files(std::string_view log, std::vector<std::string> files, std::size_t max_files) {
  const std::string prefix = std::string(log) + ".";
  std::erase_if(files, [&](const auto& file) { return !file.starts_with(prefix); });
  std::sort(files.begin(), files.end());
  const std::size_t kept = max_files > 0 ? max_files - 1 : 0;
  files.resize(files.size() > kept ? files.size() - kept : 0);
  return files;
}

std::vector<std::string> expired(const std::vector<LogFolder>& folders, const std::vector<std::string>& pods_here,
                                 WallTime now, Duration keep) {
  std::vector<std::string> result;
  for (const auto& folder : folders) {
    const bool here = std::find(pods_here.begin(), pods_here.end(), folder.pod_uid) != pods_here.end();
    if (!here && now - folder.last_written > keep) result.push_back(folder.path);
  }
  return result;
}

std::vector<std::string> expired_runs(const std::vector<LogFile>& files, WallTime now, Duration keep) {
  std::map<unsigned, std::vector<LogFile>> runs;
  for (const auto& file : files) {
    const auto name = std::string_view(file.path).substr(file.path.rfind('/') + 1);
    unsigned attempt = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), attempt);
    if (error == std::errc{} && std::string_view(end, name.data() + name.size()).starts_with(".log"))
      runs[attempt].push_back(file);
  }
  std::vector<std::string> result;
  while (runs.size() > 2) {
    for (const auto& file : runs.begin()->second) {
      if (now - file.last_written > keep) result.push_back(file.path);
    }
    runs.erase(runs.begin());
  }
  return result;
}

std::string describe_pod(const SandboxSpec& spec) {
  json::Object labels;
  for (const auto& [name, value] : spec.labels) labels[name] = value;
  return json::serialize(json::Object{{"namespace", spec.pod.ns},
                                      {"name", spec.pod.name},
                                      {"uid", spec.pod.uid},
                                      {"node", spec.pod.node},
                                      {"owner", json::Object{{"kind", spec.owner.kind}, {"name", spec.owner.name}}},
                                      {"labels", std::move(labels)}});
}

std::vector<LogFolder> log_folders(const std::string& logs) {
  std::vector<LogFolder> result;
  for (const auto& path : files_in(logs)) {
    result.push_back({.path = path, .pod_uid = path.substr(path.rfind('_') + 1), .last_written = newest_in(path)});
  }
  return result;
}

std::string log_folder_of(const std::string& logs, const std::string& pod_uid) {
  for (auto& folder : files_in(logs)) {
    if (folder.ends_with("_" + pod_uid)) return folder;
  }
  return "";
}

void mark_gone(const std::string& logs, const std::string& pod_uid, WallTime now) {
  if (const auto folder = log_folder_of(logs, pod_uid); !folder.empty()) set_written_at(folder + "/pod.json", now);
}

Result<void> tidy_logs(const std::string& logs, const std::vector<std::string>& pods_here, WallTime now,
                       Duration keep) {
  const auto folders = log_folders(logs);
  for (const auto& folder : expired(folders, pods_here, now, keep)) GW_CHECKED(remove_tree(folder));
  for (const auto& folder : folders) {
    for (const auto& container : files_in(folder.path)) {
      std::vector<LogFile> files;
      for (auto& file : files_in(container)) files.push_back({.path = file, .last_written = written_at(file)});
      for (const auto& file : expired_runs(files, now, keep)) ::unlink(file.c_str());
    }
  }
  return {};
}

Result<void> rotate(const std::string& log, WallTime now, std::size_t max_files, const std::string& shim_control) {
  // Nobody listens any more once the container has ended; its log stays as it is.
  const sys::FileDescriptor control(::open(shim_control.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!control) return {};
  if (::rename(log.c_str(), rotated_name(log, now).c_str()) != 0) {
    // Not there: the shim has not made the new file of the last rotation yet.
    return errno == ENOENT ? Result<void>{} : Result<void>(sys::file_error("rotate", log));
  }
  constexpr std::string_view kReopen = "2 0 0\n";
  if (::write(control.get(), kReopen.data(), kReopen.size()) < 0)
    return sys::file_error("ask for a new log at", shim_control);
  for (const auto& file : surplus_files(log, files_in(log.substr(0, log.rfind('/'))), max_files))
    ::unlink(file.c_str());
  return {};
}

}  // namespace gangway::agent::oci
