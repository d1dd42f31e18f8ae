#include "apiserver/direct_client.h"

#include <fmt/format.h>

#include "api/selector.h"
#include "apiserver/rest/list_options.h"

namespace gangway::apiserver {
namespace {

std::string_view verb_of(client::Method method) {
  switch (method) {
    case client::Method::kGet:
      return "get";
    case client::Method::kCreate:
      return "create";
    case client::Method::kUpdate:
      return "update";
    case client::Method::kPatch:
      return "patch";
    case client::Method::kDelete:
      return "delete";
  }
  return "get";
}

std::string_view patch_content_type(client::PatchType type) {
  switch (type) {
    case client::PatchType::kJson:
      return "application/json-patch+json";
    case client::PatchType::kMerge:
      return "application/merge-patch+json";
    case client::PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
    case client::PatchType::kApply:
      return "application/apply-patch+yaml";
  }
  return "application/merge-patch+json";
}

// What an in-process client gets of an answer that is not an object: its bytes, and a header without a name.
api::Version version_of(Answer answer) {
  if (auto* object = std::get_if<ObjectAnswer>(&answer.content)) return std::move(object->object);
  auto* ready = std::get_if<JsonAnswer>(&answer.content);
  return api::Version{std::make_shared<const api::Header>(),
                      ready ? ready->bytes : std::make_shared<const std::string>("{}")};
}

// A watch that reads the log when something was published, and tells what it means for the selection.
class DirectWatch final : public sys::Subscription {
 public:
  DirectWatch(sys::EventLoop& loop, client::WatchCallbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}

  void begin(store::Store& store, std::unique_ptr<store::Cursor> cursor, Selection selection) {
    cursor_ = std::move(cursor);
    selection_ = std::move(selection);
    published_ = store.on_publish(loop_, [this] { drain(); });
    drain();
  }

  void end(const Error& error) {
    published_.reset();
    cursor_.reset();
    if (callbacks_.on_end) callbacks_.on_end(error);
  }

  std::weak_ptr<const bool> life() const { return life_; }

 private:
  void drain() {
    // A callback may end the watch, and with it this object.
    auto alive = life();
    while (!alive.expired() && cursor_) {
      auto change = cursor_->next();
      if (!change) return end(change.error());
      if (!*change) return report_progress();
      emit(**change);
    }
  }

  // Controllers wait until their mirror has reached the revision of their own writes, which may be about other kinds.
  void report_progress() {
    auto position = cursor_->position();
    if (position == reported_) return;
    reported_ = position;
    auto header = std::make_shared<api::Header>();
    header->revision = position;
    callbacks_.on_event({client::WatchEvent::Type::kBookmark, api::Version{std::move(header), nullptr}});
  }

  void emit(const store::Change& change) {
    using Type = client::WatchEvent::Type;
    reported_ = change.revision();
    bool before = change.before && selection_.matches(*change.before.header);
    bool now = change.type != store::ChangeType::kDeleted && selection_.matches(*change.now.header);
    if (now) {
      callbacks_.on_event({before ? Type::kModified : Type::kAdded, change.now});
    } else if (before) {
      callbacks_.on_event({Type::kDeleted, change.now});
    }
  }

  sys::EventLoop& loop_;
  client::WatchCallbacks callbacks_;
  std::unique_ptr<store::Cursor> cursor_;
  Selection selection_;
  api::Revision reported_ = 0;
  std::unique_ptr<sys::Subscription> published_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace

DirectClient::DirectClient(ApiServer& server, store::Store& store, sys::EventLoop& loop, UserInfo user)
    : server_(server), store_(store), loop_(loop), user_(std::move(user)) {}

CallPtr DirectClient::new_call(const client::Resource& resource, std::string verb) const {
  auto call = std::make_shared<Call>(loop_);
  call->user = user_;
  call->in_process = true;
  call->info.is_resource = true;
  call->info.verb = std::move(verb);
  call->info.group = resource.group;
  call->info.version = resource.version;
  call->info.resource = resource.plural;
  call->content_type = "application/json";
  return call;
}

void DirectClient::call(client::ApiRequest request, sys::Completion<api::Version> done) {
  auto call = new_call(request.resource, std::string(verb_of(request.method)));
  call->info.ns = std::move(request.object.ns);
  call->info.name = std::move(request.object.name);
  call->info.subresource = std::move(request.subresource);
  call->body = std::move(request.body);
  if (request.method == client::Method::kPatch) call->content_type = patch_content_type(request.patch_type);
  if (!request.field_manager.empty()) call->query.set("fieldManager", request.field_manager);
  loop_.post([&loop = loop_, &server = server_, call, done = std::move(done)] {
    server.submit(call, [&loop, done](Result<Answer> answer) {
      auto outcome = std::make_shared<Result<api::Version>>(
          answer ? Result<api::Version>(version_of(std::move(*answer))) : answer.error());
      loop.post([done, outcome] { done(std::move(*outcome)); });
    });
  });
}

void DirectClient::list(client::ListRequest request, sys::Completion<client::ListAnswer> done) {
  auto call = new_call(request.resource, "list");
  call->info.ns = std::move(request.ns);
  if (!request.label_selector.empty()) call->query.set("labelSelector", request.label_selector);
  if (!request.field_selector.empty()) call->query.set("fieldSelector", request.field_selector);
  read_selected(call->query, call->info);
  loop_.post([&loop = loop_, &server = server_, call, done = std::move(done)] {
    server.submit(call, [&loop, done](Result<Answer> answer) {
      Result<client::ListAnswer> outcome = internal_error("the server did not answer with a list");
      if (!answer) {
        outcome = answer.error();
      } else if (auto* list = std::get_if<ListAnswer>(&answer->content)) {
        outcome = client::ListAnswer{list->revision, std::move(list->items)};
      }
      auto shared = std::make_shared<Result<client::ListAnswer>>(std::move(outcome));
      loop.post([done, shared] { done(std::move(*shared)); });
    });
  });
}

std::unique_ptr<sys::Subscription> DirectClient::watch(client::WatchRequest request, client::WatchCallbacks callbacks) {
  auto call = new_call(request.what.resource, "watch");
  call->info.ns = request.what.ns;
  call->query.set("watch", "true");
  call->query.set("resourceVersion", std::to_string(request.after));
  if (!request.what.label_selector.empty()) call->query.set("labelSelector", request.what.label_selector);
  if (!request.what.field_selector.empty()) call->query.set("fieldSelector", request.what.field_selector);
  read_selected(call->query, call->info);
  auto watch = std::make_unique<DirectWatch>(loop_, std::move(callbacks));
  loop_.post([this, call, watching = watch.get(), alive = watch->life()] {
    if (alive.expired()) return;
    server_.submit(call, [this, call, watching, alive](Result<Answer> answer) {
      if (alive.expired()) return;
      if (!answer) return watching->end(answer.error());
      auto selection = read_selection(*call);
      if (!selection) return watching->end(selection.error());
      watching->begin(store_, std::move(std::get<CursorAnswer>(answer->content).cursor), std::move(*selection));
    });
  });
  return watch;
}

}  // namespace gangway::apiserver
