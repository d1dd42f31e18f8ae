#include "scheduler/flight/flight_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include "scheduler/flight/archive.h"
#include "sys/file_descriptor.h"
#include "sys/files.h"
#include "sys/log.h"

namespace gangway::scheduler::flight {
namespace {

// A new file begins when what was appended is as much as its beginning, so that writing everything now and then no more
// than doubles the bytes; small ones are not worth it.
constexpr std::uint64_t kSmallFile = std::uint64_t{256} << 10;

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return sys::file_error("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

// The files. Belongs to the thread.
class FlightLog::Ring {
 public:
  explicit Ring(const LogOptions& options) : options_(options) {}

  // What earlier processes have left counts as ours.
  Result<void> open() {
    GW_CHECKED(make_folder());
    GW_TRY(const auto paths, flight_files(options_.folder));
    for (const std::string& path : paths) adopt(path);
    is_open_ = true;
    return {};
  }

  Result<void> add(Entry entry) {
    const std::string changes = advance(record_, std::move(entry));
    if (!is_open_) GW_CHECKED(open_again());
    if (has_file() && !is_time_for_another(changes.size())) return append({next_, false, changes});
    return begin();
  }

  void fill(LogStatus& status) const {
    status.first = files_.empty() ? 0 : files_.front().first;
    status.last = last_;
    status.bytes = bytes_;
  }

 private:
  struct File {
    std::string path;
    std::uint64_t first = 0;
    std::uint64_t cycles = 0;
    std::uint64_t bytes = 0;
  };

  Result<void> make_folder() const {
    std::error_code error;
    std::filesystem::create_directories(options_.folder, error);
    if (error) return internal_error(fmt::format("cannot make the directory {}: {}", options_.folder, error.message()));
    if (::chmod(options_.folder.c_str(), 0700) != 0) return sys::file_error("make private", options_.folder);
    return {};
  }

  bool has_file() const { return static_cast<bool>(current_); }

  void adopt(const std::string& path) {
    File file{.path = path};
    const auto bytes = sys::read_file(path);
    if (!bytes) return;
    file.bytes = bytes->size();
    if (auto reader = BlockReader::open(*bytes)) {
      while (const auto block = reader->next()) {
        if (file.cycles++ == 0) file.first = block->cycle;
        last_ = std::max(last_, block->cycle);
      }
    }
    // A name that is taken must not come again, whatever is in the file.
    next_ = std::max({next_, last_ + 1, number_of(path) + 1});
    bytes_ += file.bytes;
    cycles_ += file.cycles;
    files_.push_back(std::move(file));
  }

  Result<void> open_again() {
    const auto now = std::chrono::steady_clock::now();
    if (now < try_again_) return internal_error(last_error_);
    try_again_ = now + options_.retry_after;
    auto opened = open();
    if (!opened) last_error_ = opened.error().message;
    return opened;
  }

  bool is_time_for_another(std::uint64_t more) const {
    const std::uint64_t grown = files_.back().bytes - began_with_;
    return grown >= std::max(began_with_, kSmallFile) || files_.back().cycles >= options_.max_cycles / 4 ||
           files_.back().bytes + more + kSlack > options_.max_bytes / 2;
  }

  Result<void> begin() {
    current_.reset();
    const auto now = std::chrono::steady_clock::now();
    if (now < try_again_) return internal_error(last_error_);
    auto begun = try_to_begin();
    if (!begun) {
      try_again_ = now + options_.retry_after;
      last_error_ = begun.error().message;
    }
    return begun;
  }

  Result<void> try_to_begin() {
    const std::string body = whole(record_);
    if (body.size() + kSlack > options_.max_bytes / 2)
      return internal_error(
          fmt::format("one cycle of this cluster takes {} bytes, more than half of the {} that it may "
                      "use",
                      body.size(), options_.max_bytes));
    GW_CHECKED(make_folder());
    const std::string path = fmt::format("{}/{}", options_.folder, file_name(next_));
    current_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!current_) return sys::file_error("create", path);
    files_.push_back({.path = path, .first = next_});
    auto written = append({next_, true, body}, file_header());
    if (!written) {
      // Nothing in it can be read.
      bytes_ -= files_.back().bytes;
      ::unlink(path.c_str());
      files_.pop_back();
    }
    return written;
  }

  Result<void> append(const Block& block, std::string head = "") {
    head += block_text(block);
    make_room(head.size());
    File& file = files_.back();
    auto written = write_all(current_.get(), head, file.path);
    if (!written) {
      // What follows a torn record cannot be read. Where it cannot be cut off again it stays, and nothing after it.
      if (::ftruncate(current_.get(), static_cast<off_t>(file.bytes)) != 0)
        sys::log_warning("the end of a file cannot be read", {{"file", file.path}});
      current_.reset();
      return written;
    }
    if (block.is_full) began_with_ = head.size();
    file.bytes += head.size();
    bytes_ += head.size();
    ++file.cycles;
    ++cycles_;
    last_ = next_++;
    return {};
  }

  void make_room(std::uint64_t more) {
    while (files_.size() > 1 && (bytes_ + more > options_.max_bytes || cycles_ + 1 > options_.max_cycles)) {
      ::unlink(files_.front().path.c_str());
      bytes_ -= files_.front().bytes;
      cycles_ -= files_.front().cycles;
      files_.erase(files_.begin());
    }
  }

  static constexpr std::uint64_t kSlack = 1024;  // for the lines that say how much follows

  const LogOptions& options_;
  bool is_open_ = false;
  CycleRecord record_;
  std::vector<File> files_;  // oldest first
  std::uint64_t bytes_ = 0;
  std::uint64_t cycles_ = 0;
  std::uint64_t next_ = 1;
  std::uint64_t last_ = 0;
  sys::FileDescriptor current_;
  std::uint64_t began_with_ = 0;
  std::chrono::steady_clock::time_point try_again_ = {};
  std::string last_error_;
};

FlightLog::FlightLog(LogOptions options) : options_(std::move(options)), thread_([this] { run(); }) {}

FlightLog::~FlightLog() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool FlightLog::has_room() {
  const std::lock_guard lock(mutex_);
  if (queued_bytes_ < options_.max_queued_bytes) return true;
  ++status_.skipped;
  return false;
}

void FlightLog::add(Entry entry) {
  {
    const std::lock_guard lock(mutex_);
    queued_bytes_ += entry.bytes();
    queue_.push_back(std::move(entry));
  }
  changed_.notify_all();
}

LogStatus FlightLog::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void FlightLog::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !is_busy_; });
}

void FlightLog::run() {
  pthread_setname_np(pthread_self(), "gw-flight");
  Ring ring(options_);
  auto done = ring.open();
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::string error = done ? "" : done.error().message;
    if (!error.empty() && status_.error.empty())
      sys::log_error("cycles of the scheduler are not recorded", {{"error", error}});
    if (error.empty() && !status_.error.empty()) sys::log_info("cycles of the scheduler are recorded again");
    status_.error = error;
    ring.fill(status_);
    is_busy_ = false;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    lock.unlock();
    const std::size_t bytes = entry.bytes();
    done = ring.add(std::move(entry));
    lock.lock();
    queued_bytes_ -= bytes;
  }
}

}  // namespace gangway::scheduler::flight
