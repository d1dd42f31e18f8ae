// Backups: a whole root in one plain file, and the way back. Blocking; any thread.
#pragma once

#include <string>

#include "store/snapshot.h"

namespace gangway::store {

// Writes all of `root` to a new file that only its owner can read. kAlreadyExists when `path` exists: a backup is never
// overwritten. `path` appears when the copy is complete and durable, or not at all.
Result<void> write_backup(const Snapshot& root, const std::string& path);

// Makes the database at `database_path` hold what `backup_path` holds. No store may be open on it. The backup is
// checked first; a crash leaves the old database or the new one. Revisions go on above all that either of the two has
// handed out, so that every position of an earlier watch is expired. A database that was damaged is kept beside the new
// one.
Result<void> restore_backup(const std::string& backup_path, const std::string& database_path);

}  // namespace gangway::store
