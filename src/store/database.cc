#include "store/database.h"

#include <utility>

#include "store/data_file.h"

namespace gangway::store {
namespace {

// A longer log makes fewer, larger checkpoints; it is read once more when the store opens.
constexpr int kLongLogPages = 4096;

Result<void> make_durable(const Connection& connection) {
  allow_checkpoint(connection);
  GW_TRY(const auto mode, connection.text("PRAGMA journal_mode = WAL"));
  if (mode != "wal") return internal_error("the file system cannot hold a write-ahead log");
  // Checkpoints come after the answers of a batch, not before them.
  return connection.execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
}

Result<void> initialise(const Connection& connection) {
  GW_CHECKED(connection.execute(kPageSize));
  GW_CHECKED(make_durable(connection));
  GW_CHECKED(connection.execute("BEGIN IMMEDIATE"));
  GW_CHECKED(create_tables(connection));
  return connection.execute("COMMIT");
}

int note_wal_pages(void* pages, sqlite3*, const char*, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

}  // namespace

Result<Database> Database::open(const std::string& path, const std::string& vfs) {
  const bool on_disk = vfs.empty();
  // Made before SQLite would: with other rights, and without a durable name.
  if (on_disk && !file_exists(path)) {
    GW_CHECKED(create_private(path));
    GW_CHECKED(sync_directory_of(path));
  }
  GW_TRY(auto connection, open_untouched(path, vfs));
  GW_TRY(const bool filled, check_format(connection, path));
  Contents contents{.snapshot = empty_snapshot(), .ceiling = kFirstRevision};
  if (filled) {
    GW_TRY(contents, read_contents(connection, path));
  }
  auto ready = filled ? make_durable(connection) : initialise(connection);
  if (!ready) return std::move(ready).error().within("cannot open " + path);
  if (on_disk) GW_CHECKED(make_private(path));
  GW_TRY(auto rows, RowWriter::prepare(connection));
  Database database(path, std::move(connection), std::move(contents.snapshot), contents.ceiling, std::move(rows));
  // Nothing is handed out before the file says that it may be.
  GW_CHECKED(database.set_ceiling(contents.ceiling + kRevisionGap));
  return database;
}

Database::Database(std::string path, Connection connection, std::shared_ptr<const Snapshot> contents, Revision ceiling,
                   RowWriter rows)
    : path_(std::move(path)),
      connection_(std::move(connection)),
      contents_(std::move(contents)),
      ceiling_(ceiling),
      rows_(std::move(rows)) {
  sqlite3_wal_hook(connection_.raw(), &note_wal_pages, wal_pages_.get());
}

Database::~Database() = default;

template <class Work>
Result<void> Database::transact(Work work) {
  auto done = connection_.execute("BEGIN IMMEDIATE");
  if (done) done = work();
  if (done) done = connection_.execute("COMMIT");
  if (!done) return failed(done.error());
  return {};
}

Error Database::failed(const Error& cause) {
  const bool full = connection_.failure() == SQLITE_FULL;
  connection_.roll_back();
  auto error = internal_error("the store cannot write to " + path_ + ": " + cause.message);
  if (full) {
    error.message += "; nothing was changed, free some space and try again";
    return error;
  }
  // After any other failure nobody knows what the disk holds; SQLite finds out when it opens the file again.
  error.message += "; nothing can be changed until the disk is in order and Gangway is started again";
  sqlite3_db_config(connection_.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  broken_ = error;
  return error;
}

Result<void> Database::write_rows(std::span<const std::shared_ptr<const Transaction>> batch, Revision ceiling) {
  for (const auto& transaction : batch) {
    for (const auto& [resource, change] : transaction->items) {
      GW_CHECKED(change.type == ChangeType::kDeleted ? rows_->erase(resource, change.now.header->name)
                                                     : rows_->put(resource, change.now));
    }
  }
  if (ceiling != ceiling_) GW_CHECKED(rows_->set_ceiling(ceiling));
  return {};
}

Result<void> Database::write(std::span<const std::shared_ptr<const Transaction>> batch) {
  if (broken_) return *broken_;
  if (batch.empty()) return {};
  // Raised long before it is reached, so that relaxed writes need not wait for it.
  const auto last = batch.back()->revision;
  const auto ceiling = last + kRevisionGap / 2 > ceiling_ ? last + kRevisionGap : ceiling_;
  GW_CHECKED(transact([&] { return write_rows(batch, ceiling); }));
  ceiling_ = ceiling;
  return {};
}

Result<void> Database::set_ceiling(Revision ceiling) {
  GW_CHECKED(transact([&] { return rows_->set_ceiling(ceiling); }));
  ceiling_ = ceiling;
  return {};
}

Result<void> Database::tidy() {
  if (broken_ || *wal_pages_ < kLongLogPages) return {};
  const int code = sqlite3_wal_checkpoint_v2(connection_.raw(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK) return failed(internal_error(sqlite3_errmsg(connection_.raw())));
  *wal_pages_ = 0;
  return {};
}

Result<void> Database::close(Revision last) {
  return set_ceiling(last);
}

}  // namespace gangway::store
