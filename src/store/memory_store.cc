#include "store/memory_store.h"

#include <utility>

#include "base/check.h"
#include "store/backup.h"
#include "store/database_format.h"

namespace gangway::store {
namespace {

std::shared_ptr<const Snapshot> snapshot_of(const std::shared_ptr<const Root>& opening) {
  if (!opening) return empty_snapshot();
  auto snapshot = std::dynamic_pointer_cast<const Snapshot>(opening);
  GW_CHECK(snapshot != nullptr);
  return snapshot;
}

}  // namespace

MemoryStore::MemoryStore(sys::EventLoop& loop, const WatchLimits& limits, const std::shared_ptr<const Root>& opening)
    : CoreStore(std::make_shared<Core>(loop, snapshot_of(opening), limits)), loop_(loop) {}

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
