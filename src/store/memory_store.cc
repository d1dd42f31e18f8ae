#include "store/memory_store.h"

#include <utility>

#include "store/backup.h"
#include "store/database_format.h"

namespace gangway::store {
MemoryStore::MemoryStore(sys::EventLoop& loop, const WatchLimits& limits)
    : CoreStore(std::make_shared<Core>(loop, empty_snapshot(), limits)), loop_(loop) {}

MemoryStore::~MemoryStore() = default;

void MemoryStore::commit(std::vector<Write> writes, Durability, sys::Completion<Committed> done) {
  auto prepared = core_->prepare(std::move(writes));
  if (!prepared) return core_->answer(std::move(done), std::move(prepared).error());
  const auto revision = (*prepared)->revision;
  core_->enqueue(std::move(*prepared), std::move(done));
  // The core, not the store: what was accepted is answered even when the store ends first.
  loop_.post([core = core_, revision] { core->publish_through(revision); });
}

Result<void> MemoryStore::backup(const std::string& path) const {
  return write_backup(*core_->root(), path);
}

}  // namespace gangway::store
