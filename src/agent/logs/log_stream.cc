#include "agent/logs/log_stream.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

namespace gangway::agent {
namespace {

// How late the end of a container may be noticed, and anything at all where inotify is not to be had.
constexpr auto kLookAgain = std::chrono::seconds(1);

}  // namespace

LogStream::LogStream(sys::EventLoop& loop, std::string path, LogOptions options, std::function<bool()> ended)
    : loop_(loop), follow_(options.follow), ended_(std::move(ended)), reader_(path, options) {
  // Before the first read, so that nothing is written unseen in between.
  if (follow_) watch(path);
}

LogStream::~LogStream() {
  loop_.cancel(timer_);
}

// Of the folder: it sees the file being written, and the next one take its place.
void LogStream::watch(const std::string& path) {
  inotify_ = sys::FileDescriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!inotify_ || ::inotify_add_watch(inotify_.get(), folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) return;
  subscription_ = loop_.watch_fd(inotify_.get(), sys::EventLoop::FdEvent::kReadable, [this] {
    char events[4096];
    while (::read(inotify_.get(), events, sizeof events) > 0) {
    }
    if (waker_) waker_();
  });
}

void LogStream::wait() {
  if (timer_ != sys::TimerId::kNone) return;
  timer_ = loop_.run_after(kLookAgain, [this] {
    timer_ = sys::TimerId::kNone;
    if (waker_) waker_();
  });
}

sys::BodyStream::State LogStream::read(std::vector<sys::Buffer>& out, std::size_t) {
  std::string text;
  const auto progress = reader_.read(text);
  State state = State::kMore;
  if (progress == LogReader::Progress::kLimit) state = State::kEnd;
  if (progress == LogReader::Progress::kCaughtUp) {
    if (!follow_ || last_look_) {
      reader_.finish(text);
      state = State::kEnd;
    } else if (ended_()) {
      last_look_ = true;
    } else {
      wait();
      state = State::kWait;
    }
  }
  if (!text.empty()) out.push_back(sys::make_buffer(std::move(text)));
  return state;
}

}  // namespace gangway::agent
