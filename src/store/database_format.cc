#include "store/database_format.h"

#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "store/header_codec.h"

namespace gangway::store {
namespace {

constexpr std::string_view kUntouched = "The file has not been changed. ";

// SQLite does not notice a flipped bit in the middle of a value. This is no protection against intent.
std::int64_t checksum(Revision revision, std::initializer_list<std::string_view> parts) {
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;
  std::uint64_t sum = revision;
  auto add = [&sum](std::uint64_t word) {
    sum = (sum ^ word) * kMix;
    sum ^= sum >> 32;
  };
  for (auto part : parts) {
    // The length first: bytes that move from one part to the next are a change too.
    add(part.size());
    for (std::uint64_t word = 0; !part.empty(); word = 0) {
      const auto size = std::min(part.size(), sizeof word);
      std::memcpy(&word, part.data(), size);
      add(word);
      part.remove_prefix(size);
    }
  }
  return static_cast<std::int64_t>(sum);
}

// A row of `SELECT resource, ns, name, revision, checksum, header, json`.
Result<api::Version> read_row(const Statement& row) {
  const auto revision = static_cast<Revision>(row.number(3));
  const auto sum = checksum(revision, {row.bytes(0), row.bytes(1), row.bytes(2), row.bytes(5), row.bytes(6)});
  if (sum != row.number(4)) return internal_error("its checksum is wrong");
  GW_TRY(auto header, decode_header(row.bytes(5)));
  header.name = {std::string(row.bytes(1)), std::string(row.bytes(2))};
  header.revision = revision;
  return api::Version{std::make_shared<const api::Header>(std::move(header)),
                      std::make_shared<const std::string>(row.bytes(6))};
}

Result<Contents> read_rows(const Connection& connection) {
  GW_TRY(const auto ceiling, connection.number("SELECT value FROM meta WHERE key = 'ceiling'"));
  Contents contents{.snapshot = nullptr, .ceiling = static_cast<Revision>(ceiling)};
  Snapshot::Editor editor(std::make_shared<const Snapshot>());
  GW_TRY(auto rows, connection.prepare("SELECT resource, ns, name, revision, checksum, header, json FROM objects"));
  api::ResourceName resource;
  for (;;) {
    GW_TRY(const bool more, rows.step());
    if (!more) break;
    if (resource != rows.bytes(0)) resource = rows.bytes(0);
    auto version = read_row(rows);
    if (!version) {
      return std::move(version).error().within(resource + " \"" + std::string(rows.bytes(2)) + '"');
    }
    if (version->header->revision > contents.ceiling) return internal_error("a revision is above the ceiling");
    editor.put(resource, *std::move(version));
  }
  contents.snapshot = editor.snapshot(contents.ceiling);
  return contents;
}

bool exists(const std::string& path, const std::string& vfs) {
  auto* found = sqlite3_vfs_find(vfs.empty() ? nullptr : vfs.c_str());
  int result = 0;
  // SQLite counts an empty file as missing, which is right here too.
  return found && found->xAccess(found, path.c_str(), SQLITE_ACCESS_EXISTS, &result) == SQLITE_OK && result != 0;
}

}  // namespace

std::shared_ptr<const Snapshot> empty_snapshot() {
  return Snapshot::Editor(std::make_shared<const Snapshot>()).snapshot(kFirstRevision);
}

Error damaged(const std::string& path, std::string_view detail) {
  return internal_error(path + " is damaged: " + std::string(detail) + ". " + std::string(kUntouched) +
                        "Bring a backup back with `gangway restore FILE`, or move the file away to start empty");
}

Result<Connection> open_untouched(const std::string& path, const std::string& vfs) {
  if (!exists(path, vfs) && exists(path + "-wal", vfs)) {
    return damaged(path, "it is missing or empty, but its log " + path + "-wal is there");
  }
  auto connection = Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);
  if (!connection) return std::move(connection).error().within("cannot open " + path);
  sqlite3_db_config(connection->raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  GW_CHECKED(connection->execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA cell_size_check = ON"));
  return connection;
}

void allow_checkpoint(const Connection& connection) {
  sqlite3_db_config(connection.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

Result<bool> check_format(const Connection& connection, const std::string& path) {
  auto application = connection.number("PRAGMA application_id");
  if (!application) {
    if (connection.failure() == SQLITE_BUSY) return internal_error(path + " is in use by another program");
    return damaged(path, application.error().message);
  }
  GW_TRY(const auto format, connection.number("PRAGMA user_version"));
  auto tables = connection.number("SELECT count(*) FROM sqlite_master");
  if (!tables) return damaged(path, tables.error().message);
  if (*application == 0 && format == 0 && *tables == 0) return false;
  if (*application != kApplicationId) {
    return internal_error(path + " is a database of another program. " + std::string(kUntouched) +
                          "Choose another data directory, or move the file away");
  }
  if (format > kFormat) {
    return internal_error(path + " has format " + std::to_string(format) + ", newer than the format " +
                          std::to_string(kFormat) + " that this version of Gangway reads. " + std::string(kUntouched) +
                          "Use the version of Gangway that wrote it, or a later one");
  }
  return true;
}

Result<Contents> read_contents(const Connection& connection, const std::string& path) {
  auto verdict = connection.text("PRAGMA quick_check(1)");
  if (!verdict) return damaged(path, verdict.error().message);
  if (*verdict != "ok") return damaged(path, *verdict);
  auto contents = read_rows(connection);
  if (!contents) return damaged(path, contents.error().message);
  return contents;
}

Result<void> create_tables(const Connection& connection) {
  return connection.execute(
      "CREATE TABLE objects(id INTEGER PRIMARY KEY, resource TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL,"
      " revision INTEGER NOT NULL, epoch INTEGER NOT NULL DEFAULT 1, checksum INTEGER NOT NULL,"
      " header BLOB NOT NULL, json BLOB NOT NULL, UNIQUE(resource, ns, name));"
      "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
      "INSERT INTO meta(key, value) VALUES('ceiling', " +
      std::to_string(kFirstRevision) + ");PRAGMA application_id = " + std::to_string(kApplicationId) +
      ";PRAGMA user_version = " + std::to_string(kFormat));
}

Result<RowWriter> RowWriter::prepare(const Connection& connection) {
  GW_TRY(auto put,
         connection.prepare("INSERT INTO objects(resource, ns, name, revision, epoch, checksum, header, json)"
                            " VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(resource, ns, name) DO UPDATE SET"
                            " revision = excluded.revision, epoch = excluded.epoch, checksum = excluded.checksum,"
                            " header = excluded.header, json = excluded.json"));
  GW_TRY(auto erase, connection.prepare("DELETE FROM objects WHERE resource = ? AND ns = ? AND name = ?"));
  GW_TRY(auto set_ceiling, connection.prepare("UPDATE meta SET value = ? WHERE key = 'ceiling'"));
  return RowWriter(std::move(put), std::move(erase), std::move(set_ceiling));
}

Result<void> RowWriter::put(const api::ResourceName& resource, const api::Version& version) {
  const auto& header = *version.header;
  const auto encoded = encode_header(header);
  put_.bind_text(1, resource);
  put_.bind_text(2, header.name.ns);
  put_.bind_text(3, header.name.name);
  put_.bind(4, static_cast<std::int64_t>(header.revision));
  put_.bind(5, kSchemaEpoch);
  put_.bind(6, checksum(header.revision, {resource, header.name.ns, header.name.name, encoded, *version.json}));
  put_.bind_blob(7, encoded);
  put_.bind_blob(8, *version.json);
  return put_.run();
}

Result<void> RowWriter::erase(const api::ResourceName& resource, const api::ObjectName& name) {
  erase_.bind_text(1, resource);
  erase_.bind_text(2, name.ns);
  erase_.bind_text(3, name.name);
  return erase_.run();
}

Result<void> RowWriter::set_ceiling(Revision ceiling) {
  set_ceiling_.bind(1, static_cast<std::int64_t>(ceiling));
  return set_ceiling_.run();
}

}  // namespace gangway::store
