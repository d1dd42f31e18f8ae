// ForgetfulDisk: a SQLite VFS whose files are in memory and which loses power.
//
// On power loss every byte that was not synced is forgotten, but for some earlier writes that reached the platter by
// chance and a piece of the last one: a torn page. It can also be full, or fail. Thread-safe; one disk is one VFS name.
// It has no shared memory, so a database in WAL mode must be locked exclusively.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gangway::testing {

class ForgetfulDisk {
 public:
  // `seed` decides what a power loss leaves.
  explicit ForgetfulDisk(std::uint64_t seed = 1);
  // Every file must be closed.
  ~ForgetfulDisk();
  ForgetfulDisk(const ForgetfulDisk&) = delete;
  ForgetfulDisk& operator=(const ForgetfulDisk&) = delete;

  // The VFS to open files with.
  const std::string& vfs() const;

  // Power goes with the `operations`-th write, truncation or sync from now: it and everything after it fails.
  void lose_power_after(std::size_t operations);
  bool has_power() const;
  // The files are what survived. Files that were open at the loss stay dead.
  void restore_power();
  // The process that had the files open was killed: they are dead to it, and hold all that was written, synced or not.
  void kill_process();

  // From now on writes that need room, or all writes and syncs, fail with this SQLite result code; 0: they work.
  void fail_writes_with(int code);

  std::size_t syncs() const;
  // What the file holds now; empty when there is none.
  std::string contents(const std::string& path) const;

 private:
  struct State;
  struct Vfs;
  std::unique_ptr<State> state_;
};

}  // namespace gangway::testing
