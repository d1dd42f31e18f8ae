#include "net/output_queue.h"

#include <algorithm>
#include <utility>

namespace gangway::net {

void OutputQueue::append(std::string_view bytes) {
  if (bytes.empty()) return;
  if (!queue_empty()) return append(sys::make_buffer(std::string(bytes)));
  staged_.append(bytes);
  pending_ += bytes.size();
}

void OutputQueue::append(sys::Buffer buffer) {
  if (!buffer || buffer->empty()) return;
  if (queue_empty() && staged_.size() - staged_sent_ + buffer->size() <= kRecord)
    return append(std::string_view(*buffer));
  pending_ += buffer->size();
  queue_.push_back(std::move(buffer));
}

// Fills the staged bytes up to a record from the queue.
void OutputQueue::stage() {
  while (!queue_empty() && staged_.size() - staged_sent_ < kRecord) {
    const std::string& front = *queue_[next_];
    const std::size_t room = kRecord - (staged_.size() - staged_sent_);
    const std::size_t take = std::min(room, front.size() - front_sent_);
    staged_.append(front, front_sent_, take);
    front_sent_ += take;
    if (front_sent_ == front.size()) {
      queue_[next_++].reset();
      front_sent_ = 0;
    }
  }
  if (queue_empty()) {
    queue_.clear();
    next_ = 0;
  }
}

std::string_view OutputQueue::next_piece() {
  if (staged_sent_ == staged_.size()) {
    staged_.clear();
    staged_sent_ = 0;
    if (!queue_empty() && queue_[next_]->size() - front_sent_ >= kRecord)
      return std::string_view(*queue_[next_]).substr(front_sent_);
  }
  stage();
  return std::string_view(staged_).substr(staged_sent_);
}

void OutputQueue::sent(std::size_t bytes) {
  pending_ -= bytes;
  if (staged_sent_ < staged_.size()) {
    staged_sent_ += bytes;
    return;
  }
  front_sent_ += bytes;
  if (front_sent_ < queue_[next_]->size()) return;
  queue_[next_++].reset();
  front_sent_ = 0;
}

Socket::Io OutputQueue::flush(Socket& socket) {
  Socket::Io total;
  while (pending_ > 0) {
    const Socket::Io written = socket.write(next_piece());
    total.status = written.status;
    if (written.status != Socket::Status::kOk) return total;
    total.bytes += written.bytes;
    sent(written.bytes);
  }
  return total;
}

void OutputQueue::release_memory() {
  if (pending_ != 0) return;
  staged_ = {};
  staged_sent_ = 0;
  queue_ = {};
  next_ = 0;
}

}  // namespace gangway::net
