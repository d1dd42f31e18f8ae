// SqliteStore: the durable Store. All objects are in memory; the disk is written to, and read only when the store
// opens.
//
//   commit ─► held ─► disk thread: one transaction, one fsync a batch ─► API loop: publish, answer
//               └ relaxed writes are answered here, and wait a little for company
//
// Threads: as store.h says; open and end it on the API loop's thread. Ending it writes what was accepted; the answers
// come by post even then.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/core_store.h"
#include "store/data_file.h"
#include "store/disk_writer.h"

namespace gangway::store {

struct SqliteOptions {
  std::string path;
  std::string vfs;  // the name of a SQLite VFS; empty: files
  WatchLimits watch;
  // How many bytes may be acknowledged and not yet durable.
  std::size_t max_relaxed_bytes = 4 * 1024 * 1024;
  // How long relaxed writes wait for a durable one to share its fsync.
  Duration relaxed_delay = std::chrono::milliseconds(100);
  // Where the disk's work is done; null: on a thread of its own. See DiskWriter.
  sys::EventLoop* disk = nullptr;
};

class SqliteStore final : public CoreStore {
 public:
  // Fails, and leaves the file as it is, when it is in use, damaged or of a newer format.
  static Result<std::unique_ptr<SqliteStore>> open(sys::EventLoop& loop, SqliteOptions options);
  ~SqliteStore() override;

  void commit(std::vector<Write> writes, Durability durability, sys::Completion<Committed> done) override;
  Result<void> backup(const std::string& path) const override;
  StoreStatus status() const override;

  // See restore_backup() in backup.h.
  static Result<void> restore(const std::string& backup_path, const std::string& database_path);

 private:
  struct Progress;
  SqliteStore(sys::EventLoop& loop, SqliteOptions options, DataLock lock, Database database,
              std::shared_ptr<const Snapshot> contents);
  bool may_answer_early(const Transaction& transaction, Durability durability) const;
  void flush();

  sys::EventLoop& loop_;
  const SqliteOptions options_;
  const DataLock lock_;
  const std::shared_ptr<Progress> progress_;
  sys::TimerId flush_timer_ = sys::TimerId::kNone;
  DiskWriter writer_;
};

}  // namespace gangway::store
