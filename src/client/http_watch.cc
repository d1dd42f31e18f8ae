#include "client/http_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "client/decode.h"
#include "client/http_client.h"
#include "json/value.h"

namespace gangway::client {
namespace {

// An object has 3 MB at the most; an event has little more.
constexpr std::size_t kLongestLine = std::size_t{8} << 20;

std::optional<WatchEvent::Type> type_of(std::string_view text) {
  if (text == "ADDED") return WatchEvent::Type::kAdded;
  if (text == "MODIFIED") return WatchEvent::Type::kModified;
  if (text == "DELETED") return WatchEvent::Type::kDeleted;
  if (text == "BOOKMARK") return WatchEvent::Type::kBookmark;
  return std::nullopt;
}

}  // namespace

struct HttpWatch::State {
  std::vector<std::string> fields;
  WatchCallbacks callbacks;
  int status = 0;
  std::string rest;  // the beginning of a line; or the body of an error
  bool over = false;
};

HttpWatch::HttpWatch(Transport& transport, HttpClientRequest request, std::vector<std::string> fields,
                     WatchCallbacks callbacks)
    : state_(std::make_shared<State>()) {
  state_->fields = std::move(fields);
  state_->callbacks = std::move(callbacks);
  std::weak_ptr<State> weak = state_;
  StreamCallbacks stream;
  stream.on_head = [weak](HttpClientResponse head) {
    if (auto state = weak.lock()) state->status = head.status;
  };
  stream.on_data = [weak](std::string_view bytes) {
    if (auto state = weak.lock()) on_data(state, bytes);
  };
  stream.on_end = [weak](Result<void> how) {
    auto state = weak.lock();
    if (state == nullptr) return;
    if (how && state->status != 200) return finish(state, error_of(state->status, state->rest));
    finish(state, std::move(how));
  };
  stream_ = transport.stream(std::move(request), std::move(stream));
}

void HttpWatch::on_data(const std::shared_ptr<State>& state, std::string_view bytes) {
  if (state->over) return;
  state->rest += bytes;
  if (state->status != 200) {
    state->rest.resize(std::min<std::size_t>(state->rest.size(), 64 * 1024));
    return;
  }
  std::string lines = std::exchange(state->rest, {});
  std::size_t begin = 0;
  for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', begin)) {
    on_line(state, std::string_view(lines).substr(begin, end - begin));
    // The one who was told may have ended the watch.
    if (state->over || state.use_count() == 1) return;
    begin = end + 1;
  }
  state->rest = lines.substr(begin);
  if (state->rest.size() > kLongestLine) finish(state, internal_error("a watch event of more than 8 MB"));
}

void HttpWatch::on_line(const std::shared_ptr<State>& state, std::string_view line) {
  if (line.empty()) return;
  json::ParseLimits limits;
  limits.max_bytes = kLongestLine;
  const auto event = json::parse(line, limits);
  if (!event) return finish(state, event.error());
  const json::Value* object = json::find(*event, {"object"});
  if (object == nullptr) return finish(state, bad_request("a watch event without an object"));
  const std::string_view type_text = json::string_at(*event, {"type"});
  if (type_text == "ERROR") {
    const json::Value* code = json::find(*object, {"code"});
    const int status = code != nullptr && code->is_int64() ? static_cast<int>(code->get_int64()) : 500;
    return finish(state, error_of(status, json::serialize(*object)));
  }
  const auto type = type_of(type_text);
  if (!type) return finish(state, bad_request("a watch event of the unknown type " + std::string(type_text)));
  auto version = encode_object(*object, state->fields);
  if (!version) return finish(state, std::move(version).error());
  state->callbacks.on_event({*type, std::move(*version)});
}

void HttpWatch::finish(const std::shared_ptr<State>& state, Result<void> how) {
  if (std::exchange(state->over, true)) return;
  state->callbacks.on_end(std::move(how));
}

}  // namespace gangway::client
