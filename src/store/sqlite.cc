#include "store/sqlite.h"

#include <utility>

namespace gangway::store {
namespace {

// An empty string_view may have no address, which SQLite would take for NULL.
const char* address(std::string_view value) {
  return value.data() ? value.data() : "";
}

}  // namespace

void Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
}

void Statement::bind_text(int parameter, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), parameter, address(value), value.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind_blob(int parameter, std::string_view value) {
  sqlite3_bind_blob64(statement_.get(), parameter, address(value), value.size(), SQLITE_STATIC);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return internal_error(sqlite3_errmsg(sqlite3_db_handle(statement_.get())));
}

Result<void> Statement::run() {
  auto stepped = step();
  reset();
  if (!stepped) return std::move(stepped).error();
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::string_view Statement::bytes(int column) const {
  // The blob comes first: asking for it may convert the value, and then its size changes.
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  return {data ? data : "", static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<Connection> Connection::open(const std::string& path, int flags, const std::string& vfs) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, vfs.empty() ? nullptr : vfs.c_str());
  // A handle is made even where the file cannot be opened, to carry the reason.
  Connection connection(db);
  if (code != SQLITE_OK) return internal_error(db ? sqlite3_errmsg(db) : "out of memory");
  sqlite3_extended_result_codes(db, 1);
  return connection;
}

Result<Statement> Connection::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
  if (code != SQLITE_OK) return internal_error(sqlite3_errmsg(db_.get()));
  return Statement(statement);
}

Result<void> Connection::execute(std::string_view sql) const {
  const std::string terminated(sql);
  if (sqlite3_exec(db_.get(), terminated.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return internal_error(sqlite3_errmsg(db_.get()));
  }
  return {};
}

Result<std::int64_t> Connection::number(std::string_view sql) const {
  GW_TRY(auto statement, prepare(sql));
  GW_TRY(const bool row, statement.step());
  return row ? statement.number(0) : 0;
}

Result<std::string> Connection::text(std::string_view sql) const {
  GW_TRY(auto statement, prepare(sql));
  GW_TRY(const bool row, statement.step());
  return row ? std::string(statement.bytes(0)) : std::string();
}

void Connection::roll_back() const {
  // SQLite leaves the transaction by itself after some failures; a second failure changes nothing for the caller.
  if (sqlite3_get_autocommit(db_.get()) == 0) sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace gangway::store
