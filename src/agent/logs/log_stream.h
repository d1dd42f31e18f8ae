// LogStream: a container's log as the body of an answer. Followed, it goes on as long as the container runs.
//
// What is written next is seen by inotify; a slow clock beside it sees the container's end. Belongs to the loop of the
// connection that pulls it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/logs/log_options.h"
#include "agent/logs/log_reader.h"
#include "sys/event_loop.h"
#include "sys/file_descriptor.h"
#include "sys/http.h"

namespace gangway::agent {

class LogStream final : public sys::BodyStream {
 public:
  // `ended` says whether all that will ever be written is there. Asked on the loop.
  LogStream(sys::EventLoop& loop, std::string path, LogOptions options, std::function<bool()> ended);
  ~LogStream() override;

  State read(std::vector<sys::Buffer>& out, std::size_t max_bytes) override;
  void set_waker(sys::Task waker) override { waker_ = std::move(waker); }
  bool may_stall() const override { return true; }

 private:
  void watch(const std::string& path);
  void wait();

  sys::EventLoop& loop_;
  bool follow_;
  std::function<bool()> ended_;
  sys::FileDescriptor inotify_;
  std::unique_ptr<sys::Subscription> subscription_;
  LogReader reader_;
  bool last_look_ = false;  // nothing more will be written
  sys::Task waker_;
  sys::TimerId timer_ = sys::TimerId::kNone;
};

}  // namespace gangway::agent
