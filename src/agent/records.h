// Records: where the agent keeps what it must not forget. A seam: files for real, memory under test, and nothing at all
// for simulated nodes, whose pods' status is their only record.
//
// save() returns when the record is safe; the agent does nothing that a record announces before. Blocking; one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/pod/pod_record.h"
#include "base/result.h"

namespace gangway::agent {

class Records {
 public:
  virtual ~Records() = default;
  virtual Result<std::vector<PodRecord>> load() = 0;
  virtual Result<void> save(const PodRecord& record) = 0;
  // Nothing happens when there is none.
  virtual Result<void> erase(const std::string& pod_uid) = 0;
};

// One directory a pod: DIR/<uid>/state.json, replaced and synced as a whole. A file that cannot be read is an error
// that names it: a pod whose record is lost might be started twice.
class FileRecords final : public Records {
 public:
  explicit FileRecords(std::string directory) : directory_(std::move(directory)) {}
  Result<std::vector<PodRecord>> load() override;
  Result<void> save(const PodRecord& record) override;
  Result<void> erase(const std::string& pod_uid) override;

 private:
  std::string directory_;
};

// Outlives the agents of a test.
class MemoryRecords final : public Records {
 public:
  Result<std::vector<PodRecord>> load() override;
  Result<void> save(const PodRecord& record) override;
  Result<void> erase(const std::string& pod_uid) override;
  const std::map<std::string, PodRecord>& all() const { return records_; }

 private:
  std::map<std::string, PodRecord> records_;
};

class NoRecords final : public Records {
 public:
  Result<std::vector<PodRecord>> load() override { return std::vector<PodRecord>(); }
  Result<void> save(const PodRecord&) override { return {}; }
  Result<void> erase(const std::string&) override { return {}; }
};

}  // namespace gangway::agent
