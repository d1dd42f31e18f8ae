#include "apiserver/rest/watch_stream.h"

#include <fmt/format.h>

#include <deque>

#include "apiserver/rest/encode.h"
#include "apiserver/rest/prepare.h"
#include "apiserver/rest/resources.h"
#include "apiserver/rest/watch_socket.h"
#include "apiserver/status.h"

namespace gangway::apiserver {
namespace {

constexpr Duration kBookmarkEvery = std::chrono::seconds(60);
constexpr std::int64_t kDefaultTimeoutSeconds = 45 * 60;
constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

std::string frame(std::string_view type, std::string_view object) {
  std::string text;
  text.reserve(type.size() + object.size() + 24);
  text.append(R"({"type":")").append(type).append(R"(","object":)").append(object).append("}\n");
  return text;
}

// The object as it last matched, with the revision at which it stopped matching.
api::Version at_revision(const api::Version& version, api::Revision revision) {
  auto object = json::parse(*version.json);
  if (!object) return version;
  json::object_at(*object, {"metadata"})["resourceVersion"] = std::to_string(revision);
  auto header = std::make_shared<api::Header>(*version.header);
  header->revision = revision;
  return api::Version{std::move(header), std::make_shared<const std::string>(json::serialize(*object))};
}

class WatchStream final : public sys::BodyStream {
 public:
  WatchStream(CallPtr call, store::Store& store, std::shared_ptr<WatchFrames> frames, WatchOptions options)
      : call_(std::move(call)),
        frames_(std::move(frames)),
        options_(std::move(options)),
        prefix_(stored_prefix(*call_)) {
    published_ = store.on_publish(call_->here, [this] { wake(); });
    auto seconds = options_.timeout_seconds.value_or(kDefaultTimeoutSeconds);
    timeout_ = call_->here.run_after(std::chrono::seconds(seconds), [this] {
      over_ = true;
      wake();
    });
    if (options_.bookmarks) plan_bookmark();
  }

  ~WatchStream() override {
    call_->here.cancel(timeout_);
    call_->here.cancel(bookmark_timer_);
  }

  // The state to start from, when the client wants it as events.
  void begin_with(std::vector<api::Version> initial, api::Revision revision, bool announce_end) {
    initial_.assign(std::make_move_iterator(initial.begin()), std::make_move_iterator(initial.end()));
    if (announce_end) initial_end_ = revision;
  }
  void go_on_from(std::unique_ptr<store::Cursor> cursor) { cursor_ = std::move(cursor); }
  void fail_with(const Error& error) { failure_ = error; }

  void set_waker(sys::Task waker) override { waker_ = std::move(waker); }

  State read(std::vector<sys::Buffer>& out, std::size_t max_bytes) override {
    std::size_t bytes = 0;
    auto emit = [&](sys::Buffer event) {
      bytes += event->size();
      out.push_back(std::move(event));
    };
    while (bytes < max_bytes) {
      if (over_) return State::kEnd;
      if (!initial_.empty()) {
        emit_object(emit, "ADDED", initial_.front());
        initial_.pop_front();
      } else if (initial_end_) {
        emit(sys::make_buffer(bookmark(*std::exchange(initial_end_, std::nullopt), true)));
      } else if (failure_) {
        emit(sys::make_buffer(frame("ERROR", json::serialize(status_of(*failure_)))));
        over_ = true;
      } else if (!emit_next_change(emit)) {
        if (!std::exchange(bookmark_due_, false)) return State::kWait;
        emit(sys::make_buffer(bookmark(cursor_->position(), false)));
      }
    }
    return State::kMore;
  }

 private:
  void wake() {
    if (waker_) waker_();
  }

  void plan_bookmark() {
    bookmark_timer_ = call_->here.run_after(kBookmarkEvery, [this] {
      bookmark_due_ = true;
      plan_bookmark();
      wake();
    });
  }

  template <class Emit>
  void emit_object(Emit& emit, std::string_view type, const api::Version& version) {
    if (!prefix_.empty()) {
      opening_.assign(R"({"type":")").append(type).append(R"(","object":)").append(prefix_);
      return emit(frames_->frame(opening_, version.json));
    }
    auto object = encode_object(*call_, version, std::exchange(first_, false));
    if (object) {
      emit(sys::make_buffer(frame(type, *object)));
    } else {
      failure_ = object.error();
    }
  }

  // False when there is nothing to read right now.
  template <class Emit>
  bool emit_next_change(Emit& emit) {
    auto change = cursor_->next();
    if (!change) {
      failure_ = change.error();
      return true;
    }
    if (!*change) return false;
    const auto& entry = **change;
    // A selector turns a change into what it means for the selection: an object may enter it or leave it by an update.
    bool before = entry.before && options_.selection.matches(*entry.before.header);
    bool now = entry.type != store::ChangeType::kDeleted && options_.selection.matches(*entry.now.header);
    if (now) {
      emit_object(emit, before ? "MODIFIED" : "ADDED", entry.now);
    } else if (before) {
      bool left = entry.type != store::ChangeType::kDeleted;
      emit_object(emit, "DELETED", left ? at_revision(entry.before, entry.revision()) : entry.now);
    }
    return true;
  }

  std::string bookmark(api::Revision revision, bool ends_initial_events) const {
    json::Object metadata{{"resourceVersion", std::to_string(revision)}, {"creationTimestamp", nullptr}};
    if (ends_initial_events) metadata["annotations"] = json::Object{{kInitialEventsEnd, "true"}};
    if (call_->wanted.form == Form::kTable) {
      return frame("BOOKMARK", json::serialize(json::Object{
                                   {"kind", "Table"},
                                   {"apiVersion", "meta.k8s.io/" + call_->wanted.form_version},
                                   {"metadata", json::Object{{"resourceVersion", std::to_string(revision)}}},
                                   {"columnDefinitions", nullptr},
                                   {"rows", json::Array()}}));
    }
    return frame("BOOKMARK",
                 json::serialize(json::Object{{"kind", call_->kind->kind},
                                              {"apiVersion", group_version(call_->kind->group, call_->version->name)},
                                              {"metadata", std::move(metadata)}}));
  }

  const CallPtr call_;
  const std::shared_ptr<WatchFrames> frames_;
  const WatchOptions options_;
  const std::string prefix_;  // what a stored object is sent after; empty: it must be encoded for this watch
  std::string opening_;       // scratch
  std::deque<api::Version> initial_;
  std::optional<api::Revision> initial_end_;
  std::unique_ptr<store::Cursor> cursor_;
  std::optional<Error> failure_;
  bool over_ = false;
  bool first_ = true;
  bool bookmark_due_ = false;
  sys::Task waker_;
  std::unique_ptr<sys::Subscription> published_;
  sys::TimerId timeout_ = sys::TimerId::kNone;
  sys::TimerId bookmark_timer_ = sys::TimerId::kNone;
};

}  // namespace

Result<std::unique_ptr<sys::BodyStream>> open_watch(const CallPtr& call, store::Store& store,
                                                    std::shared_ptr<WatchFrames> frames) {
  if (auto revision = read_revision(call->query); !revision) return unforeseen(revision.error().message);
  GW_TRY(auto options, read_watch_options(*call));
  auto root = store.root();
  bool from_now = !options.revision || *options.revision == 0;
  bool initial = options.send_initial_events.value_or(from_now);
  auto start = initial || from_now ? root->revision() : *options.revision;
  auto stream = std::make_unique<WatchStream>(call, store, std::move(frames), options);
  if (initial) {
    if (options.revision && *options.revision > root->revision()) {
      Error error;
      error.reason = Reason::kTimeout;
      error.message = fmt::format("Too large resource version: {}, current: {}", *options.revision, root->revision());
      return error;
    }
    GW_TRY(auto objects, Resources::select(*call, *root));
    stream->begin_with(std::move(objects), root->revision(),
                       options.send_initial_events.value_or(false) && options.bookmarks);
  }
  auto cursor = store.watch(call->kind->storage_name, start);
  if (cursor) {
    stream->go_on_from(std::move(*cursor));
  } else {
    stream->fail_with(cursor.error());
  }
  return std::unique_ptr<sys::BodyStream>(std::move(stream));
}

void Resources::watch(const CallPtr& call, const Done& done) {
  if (call->in_process) {
    auto options = read_watch_options(*call);
    if (!options) return done(options.error());
    auto cursor = store_.watch(call->kind->storage_name, options->revision.value_or(store_.root()->revision()));
    if (!cursor) return done(cursor.error());
    return done(Answer{200, CursorAnswer{std::move(*cursor)}});
  }
  auto stream = open_watch(call, store_, watch_frames_);
  if (!stream) return done(stream.error());
  if (call->upgrade && wants_websocket(*call->upgrade))
    return done(Answer{101, ResponseAnswer{watch_as_websocket(*call->upgrade, std::move(*stream), call->here)}});
  done(Answer{200, StreamAnswer{std::move(*stream)}});
}

}  // namespace gangway::apiserver
