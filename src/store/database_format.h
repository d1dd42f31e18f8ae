// What a Gangway database file holds, and how it is checked: shared by the live store, backups and restores.
//
//   objects(resource, ns, name | revision, epoch, checksum, header, json)   one row an object
//   meta("ceiling")                                                         no revision above it was ever handed out
//
// Not here: how a file becomes durable (database.h, backup.h). A file that does not pass is never changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/snapshot.h"
#include "store/sqlite.h"

namespace gangway::store {

// A number of the file that others can tell it by ("GWay"), and the version of the form that this program writes.
inline constexpr std::int64_t kApplicationId = 0x47576179;
inline constexpr std::int64_t kFormat = 1;
// The epoch of the kinds' schemas that rows are written in.
inline constexpr std::int64_t kSchemaEpoch = 1;
// For the first statement on a new file. Objects of a few kilobytes fill small pages better than large ones:
// the file of 50,000 pods of 4.5 KB is 40 % smaller than with 8 KiB.
inline constexpr std::string_view kPageSize = "PRAGMA page_size = 4096";
// A store that was not closed goes on this many revisions higher at the most.
inline constexpr Revision kRevisionGap = 100'000;
// Lists of a store at revision 0 would say resourceVersion "0", which to clients means "any".
inline constexpr Revision kFirstRevision = 1;

// The snapshot that a new store begins with.
std::shared_ptr<const Snapshot> empty_snapshot();

struct Contents {
  std::shared_ptr<const Snapshot> snapshot;  // at the ceiling
  Revision ceiling = 0;
};

// Opens, exclusively, without changing the file, not even by the checkpoint that SQLite likes to end with.
Result<Connection> open_untouched(const std::string& path, const std::string& vfs);
// Lets SQLite do as it likes when the connection ends: for a file that has been checked.
void allow_checkpoint(const Connection& connection);
// False: the file has nothing in it yet, not even tables. An error for any other file that is not ours to read.
Result<bool> check_format(const Connection& connection, const std::string& path);
// Everything in the file; an error that names the file and says what to do when any of it is damaged.
Result<Contents> read_contents(const Connection& connection, const std::string& path);
Error damaged(const std::string& path, std::string_view detail);

// Tables of an empty file. Call within a transaction.
Result<void> create_tables(const Connection& connection);

// The statements that change rows, prepared once. Must end before its connection.
class RowWriter {
 public:
  static Result<RowWriter> prepare(const Connection& connection);

  Result<void> put(const api::ResourceName& resource, const api::Version& version);
  Result<void> erase(const api::ResourceName& resource, const api::ObjectName& name);
  Result<void> set_ceiling(Revision ceiling);

 private:
  RowWriter(Statement put, Statement erase, Statement set_ceiling)
      : put_(std::move(put)), erase_(std::move(erase)), set_ceiling_(std::move(set_ceiling)) {}

  Statement put_;
  Statement erase_;
  Statement set_ceiling_;
};

}  // namespace gangway::store
