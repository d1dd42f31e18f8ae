#include "store/disk_writer.h"

#include <iterator>
#include <utility>

namespace gangway::store {
namespace {

// A batch is bounded so that a flood of large writes does not make everyone wait for all of it.
constexpr std::size_t kMaxBatchBytes = 8 * 1024 * 1024;

}  // namespace

DiskWriter::DiskWriter(Database database, Reporter reporter)
    : database_(std::move(database)), reporter_(std::move(reporter)), thread_([this] { run(); }) {}

DiskWriter::~DiskWriter() {
  if (thread_.joinable()) finish(0);
}

void DiskWriter::submit(std::vector<std::shared_ptr<const Transaction>> transactions, std::uint64_t attempt) {
  std::lock_guard lock(mutex_);
  for (auto& transaction : transactions) queue_.push_back({std::move(transaction), attempt});
  changed_.notify_one();
}

void DiskWriter::finish(Revision last) {
  {
    std::lock_guard lock(mutex_);
    finished_at_ = last;
    changed_.notify_one();
  }
  thread_.join();
}

bool DiskWriter::wait_for_batch(std::vector<Submission>& batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !queue_.empty() || finished_at_; });
  std::size_t bytes = 0;
  auto end = queue_.begin();
  while (end != queue_.end() && bytes < kMaxBatchBytes) bytes += (end++)->transaction->bytes;
  batch.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return !batch.empty();
}

void DiskWriter::run() {
  std::vector<Submission> taken;
  while (wait_for_batch(taken)) {
    Batch batch;
    const auto attempt = taken.back().attempt;
    for (auto& submission : taken) {
      if (submission.attempt != failed_attempt_) batch.push_back(std::move(submission.transaction));
    }
    if (!batch.empty()) write(batch, attempt);
  }
  // Zero: the caller does not know. The ceiling that is on disk holds in any case.
  if (database_.usable() && *finished_at_ != 0) static_cast<void>(database_.close(*finished_at_));
}

void DiskWriter::write(const Batch& batch, std::uint64_t attempt) {
  auto written = database_.write(batch);
  if (!written) {
    failed_attempt_ = attempt;
    reporter_({.through = 0,
               .ceiling = database_.ceiling(),
               .attempt = attempt,
               .error = std::move(written).error(),
               .lasting = !database_.usable()});
    return;
  }
  ++syncs_;
  reporter_({.through = batch.back()->revision,
             .ceiling = database_.ceiling(),
             .attempt = attempt,
             .error = std::nullopt,
             .lasting = false});
  // What this moves is durable already. Should it fail for good, so does the next write, and reports it.
  static_cast<void>(database_.tidy());
}

}  // namespace gangway::store
