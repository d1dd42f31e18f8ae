#include "store/sqlite_store.h"

#include <sys/stat.h>

#include <deque>
#include <optional>
#include <utility>

#include "store/backup.h"

namespace gangway::store {

// What the API loop knows of the disk. Apart from the store, because reports may still be on their way when it ends.
struct SqliteStore::Progress {
  struct Relaxed {
    Revision revision;
    std::size_t bytes;
  };

  const std::shared_ptr<Core> core;
  Revision ceiling;
  std::vector<std::shared_ptr<const Transaction>> held;  // prepared, not yet submitted
  std::deque<Relaxed> relaxed;                           // answered, not yet durable
  std::size_t relaxed_bytes = 0;
  std::uint64_t attempt = 0;
  bool doubtful = false;        // the last write failed: nothing is promised before the next one went well
  std::optional<Error> broken;  // none ever will

  void take(const DiskWriter::Report& report) {
    if (report.error) return fail(report);
    ceiling = report.ceiling;
    doubtful = false;
    while (!relaxed.empty() && relaxed.front().revision <= report.through) {
      relaxed_bytes -= relaxed.front().bytes;
      relaxed.pop_front();
    }
    core->publish_through(report.through);
  }

  void fail(const DiskWriter::Report& report) {
    attempt = report.attempt + 1;
    doubtful = true;
    if (report.lasting) broken = report.error;
    held.clear();
    relaxed.clear();
    relaxed_bytes = 0;
    core->fail_pending(*report.error);
  }
};

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(sys::EventLoop& loop, SqliteOptions options) {
  GW_TRY(auto lock, DataLock::take(options.path));
  GW_TRY(auto database, Database::open(options.path, options.vfs));
  auto contents = database.take_contents();
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(loop, std::move(options), std::move(lock), std::move(database), std::move(contents)));
}

SqliteStore::SqliteStore(sys::EventLoop& loop, SqliteOptions options, DataLock lock, Database database,
                         std::shared_ptr<const Snapshot> contents)
    : CoreStore(std::make_shared<Core>(loop, std::move(contents), options.watch)),
      loop_(loop),
      options_(std::move(options)),
      lock_(std::move(lock)),
      progress_(new Progress{.core = core_, .ceiling = database.ceiling(), .held = {}, .relaxed = {}, .broken = {}}),
      writer_(
          std::move(database),
          [&loop, progress = progress_](const DiskWriter::Report& report) {
            // Ahead of the requests that wait: what is durable frees its callers.
            loop.post(sys::Lane::kSystem, [progress, report] { progress->take(report); });
          },
          options_.disk) {}

SqliteStore::~SqliteStore() {
  flush();
  writer_.finish(core_->last_revision());
}

bool SqliteStore::may_answer_early(const Transaction& transaction, Durability durability) const {
  return durability == Durability::kRelaxed && !progress_->doubtful &&
         // A revision that is known outside must be below what the disk would go on from.
         transaction.revision <= progress_->ceiling &&
         progress_->relaxed_bytes + transaction.bytes <= options_.max_relaxed_bytes;
}

void SqliteStore::commit(std::vector<Write> writes, Durability durability, sys::Completion<Committed> done) {
  if (progress_->broken) return core_->answer(std::move(done), *progress_->broken);
  auto prepared = core_->prepare(std::move(writes));
  if (!prepared) return core_->answer(std::move(done), std::move(prepared).error());
  const auto& transaction = *prepared;
  progress_->held.push_back(transaction);
  // Publication is in order, so a relaxed write behind a durable one waits for it; the two share an fsync.
  if (!core_->all_published() || !may_answer_early(*transaction, durability)) {
    core_->enqueue(transaction, std::move(done));
    return flush();
  }
  progress_->relaxed.push_back({transaction->revision, transaction->bytes});
  progress_->relaxed_bytes += transaction->bytes;
  core_->enqueue(transaction, {});
  core_->publish_through(transaction->revision);
  core_->answer(std::move(done), Core::committed(*transaction));
  if (flush_timer_ == sys::TimerId::kNone) {
    flush_timer_ = loop_.run_after(options_.relaxed_delay, [this] { flush(); });
  }
}

void SqliteStore::flush() {
  if (flush_timer_ != sys::TimerId::kNone) loop_.cancel(std::exchange(flush_timer_, sys::TimerId::kNone));
  if (!progress_->held.empty()) writer_.submit(std::exchange(progress_->held, {}), progress_->attempt);
}

Result<void> SqliteStore::backup(const std::string& path) const {
  return write_backup(*core_->root(), path);
}

Result<void> SqliteStore::restore(const std::string& backup_path, const std::string& database_path) {
  return restore_backup(backup_path, database_path);
}

StoreStatus SqliteStore::status() const {
  auto status = core_->status();
  status.syncs = writer_.syncs();
  for (const auto* suffix : {"", "-wal"}) {
    struct stat file{};
    if (::stat((options_.path + suffix).c_str(), &file) == 0)
      status.disk_bytes += static_cast<std::uint64_t>(file.st_size);
  }
  return status;
}

}  // namespace gangway::store
