// Store: durable objects with a logical clock. The seam behind the API server.
//
// Life of a write: commit() checks it against the head (pending writes included) in microseconds and gives it the next
// revision; the disk thread makes one fsync for everything that waits; then the new root and the watch logs are
// published in order and the caller is answered. A reader therefore never sees what a crash could take back, relaxed
// writes excepted.
//
// Threads: commit() belongs to the API loop, on which completions run too. head(), root(), watch() and Cursor may be
// used from any thread; a Cursor by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/object.h"
#include "base/result.h"
#include "store/object_map.h"
#include "sys/completion.h"
#include "sys/event_loop.h"

namespace gangway::store {

using api::Revision;

// All objects as of one revision. Immutable; old roots share what did not change with new ones.
class Root {
 public:
  virtual ~Root() = default;
  virtual Revision revision() const = 0;
  // Never null: a resource that has no objects is an empty map. Valid as long as the root is.
  virtual const ObjectMap& objects(const api::ResourceName& resource) const = 0;
  virtual std::vector<api::ResourceName> resources() const = 0;

  api::Version get(const api::ObjectKey& key) const { return objects(key.resource).get(key.object); }
};

struct Write {
  enum class Effect : std::uint8_t { kPut, kDelete };
  api::ObjectKey key;
  Effect effect = Effect::kPut;
  // The revision the object must have now; 0: it must not exist; none: whatever it is.
  std::optional<Revision> expected;
  // The new state; for a delete the last one, which watchers get (stamped with the revision of the delete).
  api::Draft draft;
};

// kRelaxed writes (events, lease renewals) are published and acknowledged before the fsync, unless a durable write is
// under way. They may be lost with the power, never reordered, and a bounded number of bytes of them is outstanding;
// beyond that they wait like all others.
enum class Durability : std::uint8_t { kFull, kRelaxed };

struct Committed {
  Revision revision = 0;
  std::vector<api::Version> versions;  // one a write, in order
};

enum class ChangeType : std::uint8_t { kAdded, kModified, kDeleted };

struct Change {
  ChangeType type = ChangeType::kAdded;
  api::Version now;     // for kDeleted: the last state
  api::Version before;  // empty for kAdded
  Revision revision() const { return now.header->revision; }
};

// A place in the watch log of one resource.
class Cursor {
 public:
  virtual ~Cursor() = default;
  // The next published change, or null when there is none yet. The pointer is valid until the next call.
  // kExpired once the log no longer reaches back to this place.
  virtual Result<const Change*> next() = 0;
  // Everything up to this revision has been returned or does not concern the resource: what a bookmark may say.
  virtual Revision position() const = 0;
};

struct StoreStatus {
  Revision head = 0;
  Revision published = 0;
  std::size_t objects = 0;
  std::size_t pending_writes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t commits = 0;  // transactions acknowledged
  std::uint64_t syncs = 0;    // fsync rounds they took
};

class Store {
 public:
  virtual ~Store() = default;

  // What is published: durable, and what reads are answered from.
  virtual std::shared_ptr<const Root> root() const = 0;
  // What is committed, the not yet durable included: what writes are prepared against.
  virtual std::shared_ptr<const Root> head() const = 0;

  // All writes or none, at one revision. On a failed expectation: kAlreadyExists (expected 0 and it exists), kNotFound
  // (it does not exist) or kConflict, with the object's name in the message; nothing is changed.
  virtual void commit(std::vector<Write> writes, Durability durability, sys::Completion<Committed> done) = 0;

  // Answers once the head of that revision is published; with the error that took it back, when it never will be. An
  // answer that was read off the head and writes nothing waits for this: a crash must not take back what it stood on.
  // On the API loop.
  virtual void when_published(Revision revision, sys::Completion<void> done) = 0;

  // A cursor on what happens to `resource` after `after`. kExpired when the log no longer reaches back that far or
  // `after` is from another life of this store; a revision the store has not reached yet is waited for.
  virtual Result<std::unique_ptr<Cursor>> watch(const api::ResourceName& resource, Revision after) const = 0;

  // Posts `wake` to `loop` after each publication (several publications may share one). Any thread.
  [[nodiscard]] virtual std::unique_ptr<sys::Subscription> on_publish(sys::EventLoop& loop, sys::Task wake) = 0;

  // Writes a consistent copy to `path`, while the store runs. Any thread; blocks the caller.
  virtual Result<void> backup(const std::string& path) const = 0;

  virtual StoreStatus status() const = 0;
};

}  // namespace gangway::store
