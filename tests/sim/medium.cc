#include "sim/medium.h"

#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>

#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace gangway::sim {

Result<std::unique_ptr<store::Store>> MemoryMedium::open(testing::SimLoop& api, testing::SimLoop&) {
  return std::make_unique<store::MemoryStore>(api, watch_, kept_);
}

void MemoryMedium::killed(const store::Store* store) {
  if (store != nullptr) kept_ = random_.below(2) == 0 ? store->root() : store->head();
}

DiskMedium::DiskMedium(testing::Simulation& simulation, testing::Faults& faults, store::WatchLimits watch)
    : faults_(faults), random_(simulation.random().fork("medium")), watch_(watch), disk_(random_.next()) {
  std::string directory = std::filesystem::temp_directory_path() / "gangway-sim-XXXXXX";
  directory_ = ::mkdtemp(directory.data());
  // From inside of it the file has the same name in every run. Messages that users get to see name it.
  before_ = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
}

DiskMedium::~DiskMedium() {
  std::filesystem::current_path(before_);
  std::filesystem::remove_all(directory_);
}

Result<std::unique_ptr<store::Store>> DiskMedium::open(testing::SimLoop& api, testing::SimLoop& disk) {
  // Whoever starts a server again has made room for it.
  set_full(false);
  // Sometimes so early that the file is not even open, mostly in the middle of some write.
  if (faults_.happens("disk.power_loss", 1'000'000)) disk_.lose_power_after(1 + random_.below(2000));
  disk.set_longest_wait(random_.between(std::chrono::microseconds(50), std::chrono::milliseconds(8)));
  store::SqliteOptions options{.path = "./store.db", .vfs = disk_.vfs(), .watch = watch_};
  options.disk = &disk;
  GW_TRY(auto opened, store::SqliteStore::open(api, std::move(options)));
  return std::unique_ptr<store::Store>(std::move(opened));
}

void DiskMedium::set_full(bool full) {
  disk_.fail_writes_with(full ? SQLITE_FULL : SQLITE_OK);
}

void DiskMedium::killed(const store::Store*) {
  if (!disk_.has_power() || random_.below(2) == 0) {
    disk_.restore_power();
  } else {
    disk_.kill_process();
  }
}

}  // namespace gangway::sim
