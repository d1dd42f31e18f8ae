// SQLite as values: a connection and statements that end themselves. Knows nothing of objects.
//
// A connection and its statements belong to one thread at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gangway::store {

class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement, &sqlite3_finalize) {}

  // Parameters count from 1. Bound bytes are not copied: they must live until reset().
  void bind(int parameter, std::int64_t value);
  void bind_text(int parameter, std::string_view value);
  void bind_blob(int parameter, std::string_view value);
  // True: there is a row; its columns, which count from 0, are valid until the next step or reset.
  Result<bool> step();
  // Steps once, for a statement that gives no rows, and makes the statement ready for the next use.
  Result<void> run();
  void reset();
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  std::string_view bytes(int column) const;

 private:
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
};

class Connection {
 public:
  // `flags` as for sqlite3_open_v2; an empty `vfs` is the default one.
  static Result<Connection> open(const std::string& path, int flags, const std::string& vfs);

  Result<Statement> prepare(std::string_view sql) const;
  Result<void> execute(std::string_view sql) const;
  // The first column of the first row; 0 when there is none.
  Result<std::int64_t> number(std::string_view sql) const;
  Result<std::string> text(std::string_view sql) const;
  // Leaves a transaction, if one is open, without its changes.
  void roll_back() const;
  // SQLite's primary result code of what failed last.
  int failure() const { return sqlite3_errcode(db_.get()) & 0xff; }
  sqlite3* raw() const { return db_.get(); }

 private:
  explicit Connection(sqlite3* db) : db_(db, &sqlite3_close) {}
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> db_;
};

}  // namespace gangway::store
