// Medium: what of a store outlives the server's process. Opened once a life; told at the very moment of a kill.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "store/store.h"
#include "store/watch_log.h"
#include "testing/faults.h"
#include "testing/forgetful_vfs.h"

namespace gangway::sim {

class Medium {
 public:
  virtual ~Medium() = default;
  // Fails when the power goes while it opens.
  virtual Result<std::unique_ptr<store::Store>> open(testing::SimLoop& api, testing::SimLoop& disk) = 0;
  // The process of `store` was killed (null: while it opened it). What was written up to now is there, what was not
  // written is not.
  virtual void killed(const store::Store* store) = 0;
  // False: the machine has lost its power, and its processes with it.
  virtual bool has_power() const { return true; }
  // While it is full, nothing can be written.
  virtual void set_full(bool) {}
};

// A root in memory. A kill may come before or after the last commits that nobody was told of.
class MemoryMedium final : public Medium {
 public:
  MemoryMedium(testing::Simulation& simulation, store::WatchLimits watch)
      : random_(simulation.random().fork("medium")), watch_(watch) {}
  Result<std::unique_ptr<store::Store>> open(testing::SimLoop& api, testing::SimLoop& disk) override;
  void killed(const store::Store* store) override;

 private:
  testing::Random random_;
  const store::WatchLimits watch_;
  std::shared_ptr<const store::Root> kept_;
};

// SQLite on a disk that forgets what was not synced, tears writes and runs full.
class DiskMedium final : public Medium {
 public:
  DiskMedium(testing::Simulation& simulation, testing::Faults& faults, store::WatchLimits watch);
  ~DiskMedium() override;
  Result<std::unique_ptr<store::Store>> open(testing::SimLoop& api, testing::SimLoop& disk) override;
  void killed(const store::Store* store) override;
  bool has_power() const override { return disk_.has_power(); }
  void set_full(bool full) override;

 private:
  testing::Faults& faults_;
  testing::Random random_;
  const store::WatchLimits watch_;
  testing::ForgetfulDisk disk_;
  std::string directory_;         // of the lock, which is a real file
  std::filesystem::path before_;  // where the process was
};

}  // namespace gangway::sim
