#include "store/backup.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "store/data_file.h"
#include "store/database_format.h"

namespace gangway::store {
namespace {

// Where the revisions of a damaged database cannot be read, they are taken to be within this of the backup's.
constexpr Revision kUnknownGap = 1'000'000'000;

Error failed(std::string_view what, const std::string& path) {
  return internal_error("cannot " + std::string(what) + " " + path + ": " + std::strerror(errno));
}

// Removes a file that did not become what it was made for.
class Unfinished {
 public:
  explicit Unfinished(std::string path) : path_(std::move(path)) { ::unlink(path_.c_str()); }
  ~Unfinished() { ::unlink(path_.c_str()); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<void> fill(const Connection& connection, const Snapshot& root, Revision ceiling) {
  GW_CHECKED(connection.execute(kPageSize));
  // The file has no name that anyone looks for yet, and is synced as a whole: a journal would save nothing.
  GW_CHECKED(connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN"));
  GW_CHECKED(create_tables(connection));
  GW_TRY(auto rows, RowWriter::prepare(connection));
  for (const auto& resource : root.resources()) {
    for (const auto& version : root.objects(resource)) GW_CHECKED(rows.put(resource, version));
  }
  GW_CHECKED(rows.set_ceiling(ceiling));
  return connection.execute("COMMIT");
}

// A durable file with everything in it at `path`, which does not exist before.
Result<void> write_database(const Snapshot& root, Revision ceiling, const std::string& path) {
  GW_CHECKED(create_private(path));
  {
    GW_TRY(auto connection, Connection::open(path, SQLITE_OPEN_READWRITE, ""));
    auto filled = fill(connection, root, ceiling);
    if (!filled) return std::move(filled).error().within("cannot write " + path);
  }
  return sync_file(path);
}

Result<Contents> read_backup(const std::string& path) {
  if (!file_exists(path)) {
    return Error{.reason = Reason::kNotFound, .message = "there is no file " + path, .subject = {}, .causes = {}};
  }
  auto connection = Connection::open(path, SQLITE_OPEN_READONLY, "");
  if (!connection) return std::move(connection).error().within("cannot open " + path);
  GW_TRY(const bool filled, check_format(*connection, path));
  if (!filled) return internal_error(path + " is not a backup: it is empty");
  return read_contents(*connection, path);
}

// The ceiling of the database, all of whose contents are in its one file afterwards; none when it is damaged.
std::optional<Revision> settle(const std::string& path) {
  auto connection = open_untouched(path, "");
  if (!connection) return std::nullopt;
  auto filled = check_format(*connection, path);
  if (!filled) return std::nullopt;
  if (!*filled) return kFirstRevision;
  auto ceiling = connection->number("SELECT value FROM meta WHERE key = 'ceiling'");
  if (!ceiling) return std::nullopt;
  // A log that was left behind would be taken for the new database's own.
  allow_checkpoint(*connection);
  auto mode = connection->text("PRAGMA journal_mode = DELETE");
  if (!mode || *mode != "delete") return std::nullopt;
  return static_cast<Revision>(*ceiling);
}

// Gives the database a second name, so that it is there until the new one has taken its place.
Result<void> set_aside(const std::string& path, const std::string& aside) {
  if (::link(path.c_str(), aside.c_str()) != 0) return failed("keep the old database as", aside);
  const auto log = path + "-wal";
  if (file_exists(log) && ::rename(log.c_str(), (aside + "-wal").c_str()) != 0) return failed("move", log);
  return sync_directory_of(path);
}

}  // namespace

Result<void> write_backup(const Snapshot& root, const std::string& path) {
  auto exists = [&path] {
    return Error{.reason = Reason::kAlreadyExists,
                 .message = path + " exists already; backups are not overwritten, choose another name",
                 .subject = {},
                 .causes = {}};
  };
  if (file_exists(path)) return exists();
  const Unfinished copy(path + ".partial-" + std::to_string(::getpid()));
  GW_CHECKED(write_database(root, root.revision(), copy.path()));
  // link() refuses where rename() would overwrite.
  if (::link(copy.path().c_str(), path.c_str()) != 0) return errno == EEXIST ? exists() : failed("create", path);
  return sync_directory_of(path);
}

Result<void> restore_backup(const std::string& backup_path, const std::string& database_path) {
  GW_TRY(const auto lock, DataLock::take(database_path));
  GW_TRY(const auto contents, read_backup(backup_path));
  const bool replaces = file_exists(database_path);
  const auto current = replaces ? settle(database_path) : kFirstRevision;
  const auto ceiling = std::max(contents.ceiling, current.value_or(contents.ceiling + kUnknownGap)) + kRevisionGap;
  const Unfinished fresh(database_path + ".restoring");
  GW_CHECKED(write_database(*contents.snapshot, ceiling, fresh.path()));
  const auto aside = database_path + (current ? ".replaced" : ".damaged-" + std::to_string(ceiling));
  if (replaces) {
    if (current) ::unlink(aside.c_str());
    GW_CHECKED(set_aside(database_path, aside));
  }
  if (::rename(fresh.path().c_str(), database_path.c_str()) != 0) return failed("replace", database_path);
  GW_CHECKED(sync_directory_of(database_path));
  if (replaces && current) ::unlink(aside.c_str());
  return {};
}

}  // namespace gangway::store
