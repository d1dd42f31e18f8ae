// Database: the live file of a SqliteStore. One SQLite transaction, and one fsync, makes a batch of commits durable.
//
// The file is in WAL mode with synchronous=FULL and is locked exclusively. Belongs to one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "store/core.h"
#include "store/database_format.h"
#include "store/sqlite.h"

namespace gangway::store {

class Database {
 public:
  // Opens and checks the file at `path`, or makes one, and reads all of it. `vfs` is the name of a SQLite VFS, for
  // tests; empty for files.
  static Result<Database> open(const std::string& path, const std::string& vfs);
  Database(Database&&) = default;
  Database& operator=(Database&&) = delete;
  ~Database();

  // What was in the file when it was opened, at a revision that no earlier life of the store has handed out anything
  // above.
  std::shared_ptr<const Snapshot> take_contents() { return std::move(contents_); }

  // All transactions, in order, or none.
  Result<void> write(std::span<const std::shared_ptr<const Transaction>> batch);
  // Revisions up to here may be handed out before they are on disk.
  Revision ceiling() const { return ceiling_; }
  // False after a failure that more free space would not mend.
  bool usable() const { return !broken_; }
  // Moves the write-ahead log into the file when it has grown long. Not needed for durability.
  Result<void> tidy();
  // Notes that no revision above `last` was handed out, so that the next life goes on right behind it.
  Result<void> close(Revision last);

 private:
  Database(std::string path, Connection connection, std::shared_ptr<const Snapshot> contents, Revision ceiling,
           RowWriter rows);
  Result<void> write_rows(std::span<const std::shared_ptr<const Transaction>> batch, Revision ceiling);
  Result<void> set_ceiling(Revision ceiling);
  // Runs `work` in a transaction; after a failure of any part, there is none of it.
  template <class Work>
  Result<void> transact(Work work);
  Error failed(const Error& cause);

  std::string path_;
  Connection connection_;
  std::shared_ptr<const Snapshot> contents_;
  Revision ceiling_;
  std::optional<RowWriter> rows_;
  std::unique_ptr<int> wal_pages_ = std::make_unique<int>(0);  // at an address that SQLite keeps
  std::optional<Error> broken_;
};

}  // namespace gangway::store
