// Resources: create, update, patch, and the commit they share.
#include <fmt/format.h>

#include "apiserver/rest/decode.h"
#include "apiserver/rest/metadata_rules.h"
#include "apiserver/rest/patch.h"
#include "apiserver/rest/resources.h"
#include "apiserver/status.h"
#include "base/check.h"
#include "json/arena.h"

namespace gangway::apiserver {
namespace {

// Each round means that someone else's write to the same object got in first; as many in a row mean a fight over it.
constexpr int kMostAttempts = 20;

ObjectAnswer object_answer(api::Version version) {
  return ObjectAnswer{std::move(version)};
}

}  // namespace

Resources::Resources(store::Store& store, sys::EventLoop& api_loop, PrepareEnv env)
    : store_(store), api_loop_(api_loop), env_(std::move(env)) {}

void Resources::commit(const CallPtr& call, Prepare prepare, const Done& done) {
  try_commit(call, std::make_shared<Prepare>(std::move(prepare)), 1, done);
}

void Resources::try_commit(const CallPtr& call, const std::shared_ptr<Prepare>& prepare, int attempt,
                           const Done& done) {
  auto warnings_before = call->warnings.size();
  auto head = store_.head();
  auto prepared = (*prepare)(*head);
  if (!prepared) return answer_once_published(call, head->revision(), prepared.error(), done);
  if (auto told = prepared->preview ? prepared->preview : prepared->unchanged) {
    auto status = prepared->preview && prepared->created ? 201 : 200;
    return answer_once_published(call, head->revision(), Answer{status, object_answer(std::move(told))}, done);
  }
  GW_CHECK(!prepared->writes.empty());

  auto created = prepared->created;
  auto shown = prepared->shown;
  auto writes = std::make_shared<std::vector<store::Write>>(std::move(prepared->writes));
  api_loop_.post([this, call, prepare, attempt, done, created, shown, writes, warnings_before] {
    auto key = writes->front().key;
    auto durability = call->kind->durability;
    store_.commit(
        std::move(*writes), durability,
        [this, call, prepare, attempt, done, created, shown, key, warnings_before](Result<store::Committed> committed) {
          call->here.post([this, call, prepare, attempt, done, created, shown, key, warnings_before,
                           committed = std::move(committed)]() mutable {
            if (committed)
              return done(Answer{created ? 201 : 200, object_answer(shown ? shown : committed->versions.front())});
            auto reason = committed.error().reason;
            // What exists may also be a claim (an address, a port) that the next attempt will not make again.
            if (auto now = store_.head(); reason == Reason::kAlreadyExists && now->get(key))
              return answer_once_published(call, now->revision(), already_exists(*call->kind, key.object.name), done);
            bool stale = reason == Reason::kConflict || reason == Reason::kNotFound || reason == Reason::kAlreadyExists;
            if (!stale) return done(committed.error());
            if (attempt < kMostAttempts) {
              call->warnings.resize(warnings_before);
              return try_commit(call, prepare, attempt + 1, done);
            }
            done(conflict(*call->kind, key.object.name, "too many others are writing to it; try again"));
          });
        });
  });
}

void Resources::answer_once_published(const CallPtr& call, store::Revision seen, Result<Answer> answer,
                                      const Done& done) {
  if (store_.root()->revision() == seen) return done(std::move(answer));
  auto kept =
      std::make_shared<Result<Answer>>(std::move(answer));  // an answer cannot be copied, a completion has to be
  api_loop_.post([this, call, seen, done, kept] {
    store_.when_published(seen, [call, done, kept](Result<void> published) {
      if (!published) *kept = std::move(published).error();
      call->here.post([done, kept] { done(std::move(*kept)); });
    });
  });
}

void Resources::edit(const CallPtr& call, WriteOptions options, Edit edit, const Done& done) {
  commit(
      call,
      [this, call, options = std::move(options), edit = std::move(edit)](const store::Root& state) {
        return prepare_update(*call, options, edit, state, env_);
      },
      done);
}

// The body is read anew for each attempt: a second one is rare, and the first need not copy its object to save it.
void Resources::create(const CallPtr& call, const Done& done) {
  auto options = read_write_options(*call);
  if (!options) return done(options.error());
  commit(
      call,
      [this, call, options = *options](const store::Root& state) -> Result<Prepared> {
        json::Arena arena;
        GW_TRY(auto object, decode_body(*call, options, arena.storage()));
        return prepare_create(*call, options, std::move(object), false, state, env_);
      },
      done);
}

void Resources::update(const CallPtr& call, const Done& done) {
  auto options = read_write_options(*call);
  if (!options) return done(options.error());
  commit(
      call,
      [this, call, options = *options](const store::Root& state) -> Result<Prepared> {
        json::Arena arena;
        GW_TRY(auto object, decode_body(*call, options, arena.storage()));
        GW_CHECKED(match_location(*call, object, true));
        bool may_create = call->kind->strategy->create_on_update && call->info.subresource.empty();
        if (may_create && !state.get(call->object_key()))
          return prepare_create(*call, options, std::move(object), false, state, env_);
        auto replace = [&object](const json::Value&) -> Result<Edited> { return Edited{std::move(object), false}; };
        return prepare_update(*call, options, replace, state, env_);
      },
      done);
}

void Resources::patch(const CallPtr& call, const Done& done) {
  auto options = read_write_options(*call);
  if (!options) return done(options.error());
  auto patch = read_patch(*call, *options);
  if (!patch) return done(patch.error());
  auto shared = std::make_shared<Patch>(std::move(*patch));
  commit(
      call,
      [this, call, options = *options, shared](const store::Root& state) -> Result<Prepared> {
        if (shared->type == PatchType::kApply && !state.get(call->object_key())) {
          if (!call->info.subresource.empty()) return not_found(*call->kind, call->info.name);
          GW_TRY(auto edited, apply_to_nothing(*call, options, *shared));
          return prepare_create(*call, options, std::move(edited.object), true, state, env_);
        }
        auto edit = [&](const json::Value& old) { return apply_patch(*call, options, *shared, old); };
        return prepare_update(*call, options, edit, state, env_);
      },
      done);
}

}  // namespace gangway::apiserver
