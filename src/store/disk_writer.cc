#include "store/disk_writer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "sys/clock.h"

namespace gangway::store {
namespace {

// A batch is bounded so that a flood of large writes does not make everyone wait for all of it.
constexpr std::size_t kMaxBatchBytes = 8 * 1024 * 1024;
// Gathering pays while it is short beside the writing that it saves.
constexpr int kGatherWrites = 2;
constexpr Duration kLongestGather = std::chrono::milliseconds(5);

}  // namespace

DiskWriter::DiskWriter(Database database, Reporter reporter, sys::EventLoop* loop)
    : database_(std::move(database)), reporter_(std::move(reporter)), loop_(loop) {
  if (!loop_) thread_ = std::thread([this] { run(); });
}

DiskWriter::~DiskWriter() {
  if (!finished_at_) finish(0);
}

void DiskWriter::submit(std::vector<std::shared_ptr<const Transaction>> transactions, std::uint64_t attempt) {
  std::lock_guard lock(mutex_);
  for (auto& transaction : transactions) queue_.push_back({std::move(transaction), attempt});
  if (!loop_) {
    if (queue_.size() >= wanted_) changed_.notify_one();
  } else if (queue_.size() == transactions.size()) {
    post_write();
  }
}

void DiskWriter::finish(Revision last) {
  {
    std::lock_guard lock(mutex_);
    finished_at_ = last;
    changed_.notify_one();
  }
  if (!loop_) return thread_.join();
  life_.reset();
  while (!queue_.empty()) write_in_loop();
  close();
}

void DiskWriter::gather(std::unique_lock<std::mutex>& lock, std::size_t expected) {
  wanted_ = expected;
  const auto patience = std::min(last_write_ * kGatherWrites, kLongestGather);
  changed_.wait_for(lock, patience, [this] { return queue_.size() >= wanted_ || finished_at_; });
}

bool DiskWriter::wait_for_batch(std::vector<Submission>& batch) {
  std::unique_lock lock(mutex_);
  wanted_ = 1;
  // Those that the last batch freed, and those that came meanwhile.
  const auto expected = last_batch_ + queue_.size();
  changed_.wait(lock, [this] { return !queue_.empty() || finished_at_; });
  if (!finished_at_ && queue_.size() < expected) gather(lock, expected);
  wanted_ = std::numeric_limits<std::size_t>::max();  // the queue is looked at again after the write in any case
  batch = take_batch();
  last_batch_ = batch.size();
  return !batch.empty();
}

std::vector<DiskWriter::Submission> DiskWriter::take_batch() {
  std::size_t bytes = 0;
  auto end = queue_.begin();
  while (end != queue_.end() && bytes < kMaxBatchBytes) bytes += (end++)->transaction->bytes;
  std::vector<Submission> batch(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return batch;
}

void DiskWriter::run() {
  std::vector<Submission> taken;
  while (wait_for_batch(taken)) write_what_counts(std::move(taken));
  close();
}

void DiskWriter::post_write() {
  loop_->post([this, life = std::weak_ptr(life_)] {
    if (!life.expired()) write_in_loop();
  });
}

void DiskWriter::write_in_loop() {
  std::unique_lock lock(mutex_);
  auto taken = take_batch();
  const bool more = !queue_.empty();
  lock.unlock();
  if (more && life_) post_write();
  if (!taken.empty()) write_what_counts(std::move(taken));
}

void DiskWriter::write_what_counts(std::vector<Submission> taken) {
  Batch batch;
  const auto attempt = taken.back().attempt;
  for (auto& submission : taken) {
    if (submission.attempt != failed_attempt_) batch.push_back(std::move(submission.transaction));
  }
  if (!batch.empty()) write(batch, attempt);
}

void DiskWriter::close() {
  // Zero: the caller does not know. The ceiling that is on disk holds in any case.
  if (database_.usable() && *finished_at_ != 0) static_cast<void>(database_.close(*finished_at_));
}

void DiskWriter::write(const Batch& batch, std::uint64_t attempt) {
  const auto began = sys::system_clock().mono();
  auto written = database_.write(batch);
  last_write_ = sys::system_clock().mono() - began;
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
