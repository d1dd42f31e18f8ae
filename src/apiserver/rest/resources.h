// Resources: the generic REST machine. Every verb on every stored kind, built-in or custom.
//
// Reads are answered from the published root on the caller's loop. Writes are prepared there against the head,
// committed on the API loop and answered on the caller's loop. Thread-safe: all state is in the store and in values.
#pragma once

#include <functional>
#include <memory>

#include "apiserver/rest/call.h"
#include "apiserver/rest/options.h"
#include "apiserver/rest/paged_roots.h"
#include "apiserver/rest/prepare.h"
#include "apiserver/rest/watch_frames.h"
#include "store/store.h"
#include "sys/clock.h"

namespace gangway::apiserver {

class Resources {
 public:
  Resources(store::Store& store, sys::EventLoop& api_loop, PrepareEnv env);

  void get(const CallPtr& call, const Done& done) const;
  void list(const CallPtr& call, const Done& done);
  void watch(const CallPtr& call, const Done& done);
  void create(const CallPtr& call, const Done& done);
  void update(const CallPtr& call, const Done& done);
  void patch(const CallPtr& call, const Done& done);
  void remove(const CallPtr& call, const Done& done);
  void remove_collection(const CallPtr& call, const Done& done);

  // A write whose new state is computed by `edit`, done again until it meets an unchanged state: the base of update,
  // patch and the subresources.
  void edit(const CallPtr& call, WriteOptions options, Edit edit, const Done& done);
  // The same for any step that yields a write.
  using Prepare = std::function<Result<Prepared>(const store::Root& state)>;
  void commit(const CallPtr& call, Prepare prepare, const Done& done);

  // What a list with the call's namespace, name and selectors selects of `state`, all pages.
  static Result<std::vector<api::Version>> select(const Call& call, const store::Root& state);

  store::Store& store() const { return store_; }
  const PrepareEnv& env() const { return env_; }

 private:
  void try_commit(const CallPtr& call, const std::shared_ptr<Prepare>& prepare, int attempt, const Done& done);
  // For an answer that writes nothing: given once nothing can take back the head it was read off.
  void answer_once_published(const CallPtr& call, store::Revision seen, Result<Answer> answer, const Done& done);

  store::Store& store_;
  sys::EventLoop& api_loop_;
  PrepareEnv env_;
  PagedRoots paged_roots_;
  std::shared_ptr<WatchFrames> watch_frames_ = std::make_shared<WatchFrames>();
};

}  // namespace gangway::apiserver
