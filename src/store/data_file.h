// The file-system side of the store: private files, durable names, and the lock of a data directory.
#pragma once

#include <string>

#include "base/result.h"

namespace gangway::store {

// Makes an empty file that only its owner can read, or takes the rights of others from the one that is there.
Result<void> make_private(const std::string& path);
// Makes an empty file that only its owner can read; kAlreadyExists when there is one.
Result<void> create_private(const std::string& path);
bool file_exists(const std::string& path);
std::string directory_of(const std::string& path);
// After these, the bytes of the file, or the names in its directory, survive a loss of power.
Result<void> sync_file(const std::string& path);
Result<void> sync_directory_of(const std::string& path);

// Held for as long as the object lives; the kernel lets go of it when the process ends, however it ends.
class DataLock {
 public:
  // Locks `path`.lock. When another process has it, the error says which.
  static Result<DataLock> take(const std::string& path);
  DataLock(DataLock&& other) noexcept;
  DataLock& operator=(DataLock&&) = delete;
  ~DataLock();

 private:
  explicit DataLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace gangway::store
