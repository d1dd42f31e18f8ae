#include "apiserver/rest/watch_frames.h"

#include <functional>

namespace gangway::apiserver {
namespace {

// Larger objects are rare and would make the memory held here matter.
constexpr std::size_t kLargestKept = 32 * 1024;

sys::Buffer encode(std::string_view opening, std::string_view object) {
  constexpr std::string_view kEnd = "}\n";
  std::string text;
  text.reserve(opening.size() + object.size() + kEnd.size());
  text.append(opening).append(object.substr(1)).append(kEnd);
  return sys::make_buffer(std::move(text));
}

}  // namespace

WatchFrames::Entry& WatchFrames::entry_for(std::string_view opening, const std::string* object) {
  auto hash = std::hash<const std::string*>()(object) / alignof(std::max_align_t);
  return entries_[(hash ^ std::hash<std::string_view>()(opening)) % kFrames];
}

sys::Buffer WatchFrames::frame(std::string_view opening, const std::shared_ptr<const std::string>& object) {
  if (object->size() > kLargestKept) return encode(opening, *object);
  std::lock_guard lock(mutex_);
  auto& entry = entry_for(opening, object.get());
  if (entry.object != object || !entry.frame->starts_with(opening)) entry = Entry{object, encode(opening, *object)};
  return entry.frame;
}

}  // namespace gangway::apiserver
