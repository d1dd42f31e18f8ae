#include "agent/records.h"

#include <fmt/format.h>

#include <filesystem>

#include "sys/files.h"

namespace gangway::agent {
namespace {

namespace fs = std::filesystem;

Error file_error(std::string_view what, const std::string& path, const std::error_code& error) {
  return internal_error(fmt::format("cannot {} {}: {}", what, path, error.message()));
}

}  // namespace

Result<std::vector<PodRecord>> FileRecords::load() {
  std::vector<PodRecord> records;
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) return file_error("make the directory", directory_, error);
  fs::directory_iterator entries(directory_, error);
  if (error) return file_error("read the directory", directory_, error);
  for (const auto& entry : entries) {
    const std::string path = entry.path() / "state.json";
    auto text = sys::read_file(path);
    // A directory without a file is one whose record was never written, or is half erased.
    if (!text && text.error().reason == Reason::kNotFound) continue;
    if (!text) return std::move(text).error();
    auto record = read_record(*text);
    if (!record) return std::move(record.error()).within(path);
    records.push_back(std::move(*record));
  }
  return records;
}

Result<void> FileRecords::save(const PodRecord& record) {
  const fs::path directory = fs::path(directory_) / record.pod.uid;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return file_error("make the directory", directory, error);
  return sys::atomic_write(directory / "state.json", write_record(record), 0600);
}

Result<void> FileRecords::erase(const std::string& pod_uid) {
  const fs::path directory = fs::path(directory_) / pod_uid;
  std::error_code error;
  fs::remove_all(directory, error);
  if (error) return file_error("remove", directory, error);
  return {};
}

Result<std::vector<PodRecord>> MemoryRecords::load() {
  std::vector<PodRecord> all;
  for (const auto& [uid, record] : records_) all.push_back(record);
  return all;
}

Result<void> MemoryRecords::save(const PodRecord& record) {
  records_[record.pod.uid] = record;
  return {};
}

Result<void> MemoryRecords::erase(const std::string& pod_uid) {
  records_.erase(pod_uid);
  return {};
}

}  // namespace gangway::agent
