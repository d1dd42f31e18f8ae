#include "testing/forgetful_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include "base/check.h"

namespace gangway::testing {
namespace {

constexpr int kSectorBytes = 512;

struct UnsyncedWrite {
  std::size_t offset;
  std::string bytes;
};

struct File {
  std::string bytes;    // what readers see
  std::string durable;  // what a power loss leaves at least
  bool named = false;   // its name has been synced
  std::vector<UnsyncedWrite> unsynced;

  static void apply(std::string& to, std::size_t offset, std::string_view bytes) {
    if (to.size() < offset + bytes.size()) to.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), to.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  // Durable at once: nothing here relies on a truncation being forgotten.
  void truncate(std::size_t size) {
    bytes.resize(size);
    durable.resize(std::min(durable.size(), size));
    std::erase_if(unsynced, [size](const UnsyncedWrite& write) { return write.offset >= size; });
    for (auto& write : unsynced) write.bytes.resize(std::min(write.bytes.size(), size - write.offset));
  }
  void sync() {
    for (const auto& write : unsynced) apply(durable, write.offset, write.bytes);
    durable.resize(bytes.size());
    unsynced.clear();
    named = true;
  }
};

}  // namespace

struct ForgetfulDisk::State {
  explicit State(std::uint64_t seed) : random(seed) {}

  std::string name;
  sqlite3_vfs vfs{};
  mutable std::mutex mutex;
  std::mt19937_64 random;
  std::map<std::string, std::shared_ptr<File>> files;
  std::uint64_t boot = 1;  // files opened in an earlier one are dead
  bool power = true;
  std::size_t operations_left = 0;  // 0: power stays
  int failure = 0;
  std::size_t syncs = 0;

  // What a write, truncation or sync meets before it does anything.
  int begin_operation(std::uint64_t opened_in) {
    if (!power || opened_in != boot) return SQLITE_IOERR;
    if (operations_left > 0 && --operations_left == 0) power = false;
    return failure;
  }

  // The last write before the loss is torn; of the others, chance decides.
  void forget_unsynced(File& file) {
    const bool lucky = random() % 2 == 0;
    for (std::size_t i = 0; i < file.unsynced.size(); ++i) {
      const auto& write = file.unsynced[i];
      std::string_view survives = write.bytes;
      if (i + 1 == file.unsynced.size()) {
        survives = survives.substr(0, random() % (survives.size() / kSectorBytes + 1) * kSectorBytes);
      } else if (!lucky || random() % 2 == 0) {
        continue;
      }
      File::apply(file.durable, write.offset, survives);
    }
    file.unsynced.clear();
    file.bytes = file.durable;
  }
};

// The C faces that SQLite calls.
struct ForgetfulDisk::Vfs {
  struct Handle {
    sqlite3_file base;
    State* state;
    std::shared_ptr<File>* file;
    std::uint64_t boot;
  };

  static Handle& handle(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
  static State& state(sqlite3_vfs* vfs) { return *static_cast<State*>(vfs->pAppData); }

  static int close(sqlite3_file* file) {
    delete std::exchange(handle(file).file, nullptr);
    return SQLITE_OK;
  }

  static int read(sqlite3_file* file, void* out, int amount, sqlite3_int64 offset) {
    auto& at = handle(file);
    std::lock_guard lock(at.state->mutex);
    if (!at.state->power || at.boot != at.state->boot) return SQLITE_IOERR_READ;
    const auto& bytes = (*at.file)->bytes;
    const auto wanted = static_cast<std::size_t>(amount);
    const auto begin = std::min(static_cast<std::size_t>(offset), bytes.size());
    const auto size = std::min(wanted, bytes.size() - begin);
    std::memcpy(out, bytes.data() + begin, size);
    std::memset(static_cast<char*>(out) + size, 0, wanted - size);
    return size == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* file, const void* in, int amount, sqlite3_int64 offset) {
    auto& at = handle(file);
    std::lock_guard lock(at.state->mutex);
    if (const int code = at.state->begin_operation(at.boot); code != 0) return code;
    const std::string_view bytes(static_cast<const char*>(in), static_cast<std::size_t>(amount));
    File::apply((*at.file)->bytes, static_cast<std::size_t>(offset), bytes);
    (*at.file)->unsynced.push_back({static_cast<std::size_t>(offset), std::string(bytes)});
    return at.state->power ? SQLITE_OK : SQLITE_IOERR_WRITE;
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    auto& at = handle(file);
    std::lock_guard lock(at.state->mutex);
    if (const int code = at.state->begin_operation(at.boot); code != 0) return code;
    if (!at.state->power) return SQLITE_IOERR_TRUNCATE;
    (*at.file)->truncate(static_cast<std::size_t>(size));
    return SQLITE_OK;
  }

  static int sync(sqlite3_file* file, int) {
    auto& at = handle(file);
    std::lock_guard lock(at.state->mutex);
    // Being full does not keep what was written from being synced.
    const int code = at.state->begin_operation(at.boot);
    if (code != 0 && code != SQLITE_FULL) return code;
    if (!at.state->power) return SQLITE_IOERR_FSYNC;
    (*at.file)->sync();
    ++at.state->syncs;
    return SQLITE_OK;
  }

  static int file_size(sqlite3_file* file, sqlite3_int64* size) {
    auto& at = handle(file);
    std::lock_guard lock(at.state->mutex);
    *size = static_cast<sqlite3_int64>((*at.file)->bytes.size());
    return SQLITE_OK;
  }

  // One process opens each file once: there is nobody to lock out.
  static int lock(sqlite3_file*, int) { return SQLITE_OK; }
  static int check_reserved_lock(sqlite3_file*, int* result) {
    *result = 0;
    return SQLITE_OK;
  }
  static int file_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int sector_size(sqlite3_file*) { return kSectorBytes; }
  // As SQLite assumes of real disks: bytes outside a torn write are not harmed.
  static int device_characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  static const sqlite3_io_methods* io_methods() {
    static const sqlite3_io_methods methods = [] {
      sqlite3_io_methods m{};
      m.iVersion = 1;
      m.xClose = &close;
      m.xRead = &read;
      m.xWrite = &write;
      m.xTruncate = &truncate;
      m.xSync = &sync;
      m.xFileSize = &file_size;
      m.xLock = &lock;
      m.xUnlock = &lock;
      m.xCheckReservedLock = &check_reserved_lock;
      m.xFileControl = &file_control;
      m.xSectorSize = &sector_size;
      m.xDeviceCharacteristics = &device_characteristics;
      return m;
    }();
    return &methods;
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* out, int flags, int* out_flags) {
    auto& disk = state(vfs);
    std::lock_guard lock(disk.mutex);
    auto* opened = new (out) Handle{};
    if (!disk.power) return SQLITE_CANTOPEN;
    std::shared_ptr<File> file;
    if (!name) {
      file = std::make_shared<File>();
    } else {
      auto at = disk.files.find(name);
      if (at == disk.files.end()) {
        if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
        at = disk.files.emplace(name, std::make_shared<File>()).first;
      }
      file = at->second;
    }
    opened->base.pMethods = io_methods();
    opened->state = &disk;
    opened->file = new std::shared_ptr<File>(std::move(file));
    opened->boot = disk.boot;
    if (out_flags) *out_flags = flags;
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* name, int) {
    auto& disk = state(vfs);
    std::lock_guard lock(disk.mutex);
    if (!disk.power) return SQLITE_IOERR_DELETE;
    return disk.files.erase(name) == 1 ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
  }

  static int access(sqlite3_vfs* vfs, const char* name, int flags, int* result) {
    auto& disk = state(vfs);
    std::lock_guard lock(disk.mutex);
    const auto at = disk.files.find(name);
    // As on Unix, an empty file does not count as existing.
    *result = at != disk.files.end() && (flags != SQLITE_ACCESS_EXISTS || !at->second->bytes.empty()) ? 1 : 0;
    return SQLITE_OK;
  }

  static int full_pathname(sqlite3_vfs*, const char* name, int size, char* out) {
    const auto length = std::strlen(name);
    if (length >= static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
    std::memcpy(out, name, length + 1);
    return SQLITE_OK;
  }

  static void install(State& disk) {
    const sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
    GW_CHECK(real != nullptr);
    auto& vfs = disk.vfs;
    vfs.iVersion = 1;
    vfs.szOsFile = sizeof(Handle);
    vfs.mxPathname = real->mxPathname;
    vfs.zName = disk.name.c_str();
    vfs.pAppData = &disk;
    vfs.xOpen = &open;
    vfs.xDelete = &remove;
    vfs.xAccess = &access;
    vfs.xFullPathname = &full_pathname;
    vfs.xRandomness = real->xRandomness;
    vfs.xSleep = real->xSleep;
    vfs.xCurrentTime = real->xCurrentTime;
    vfs.xGetLastError = real->xGetLastError;
    GW_CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
  }
};

ForgetfulDisk::ForgetfulDisk(std::uint64_t seed) : state_(std::make_unique<State>(seed)) {
  static std::atomic<int> disks = 0;
  state_->name = "forgetful-" + std::to_string(++disks);
  Vfs::install(*state_);
}

ForgetfulDisk::~ForgetfulDisk() {
  sqlite3_vfs_unregister(&state_->vfs);
}

const std::string& ForgetfulDisk::vfs() const {
  return state_->name;
}

void ForgetfulDisk::lose_power_after(std::size_t operations) {
  GW_CHECK(operations > 0);
  std::lock_guard lock(state_->mutex);
  state_->operations_left = operations;
}

bool ForgetfulDisk::has_power() const {
  std::lock_guard lock(state_->mutex);
  return state_->power;
}

void ForgetfulDisk::restore_power() {
  std::lock_guard lock(state_->mutex);
  std::erase_if(state_->files, [](const auto& entry) { return !entry.second->named; });
  for (auto& [name, file] : state_->files) state_->forget_unsynced(*file);
  ++state_->boot;
  state_->power = true;
  state_->operations_left = 0;
}

void ForgetfulDisk::kill_process() {
  std::lock_guard lock(state_->mutex);
  ++state_->boot;
  state_->operations_left = 0;
}

void ForgetfulDisk::fail_writes_with(int code) {
  std::lock_guard lock(state_->mutex);
  state_->failure = code;
}

std::size_t ForgetfulDisk::syncs() const {
  std::lock_guard lock(state_->mutex);
  return state_->syncs;
}

std::string ForgetfulDisk::contents(const std::string& path) const {
  std::lock_guard lock(state_->mutex);
  const auto at = state_->files.find(path);
  return at == state_->files.end() ? std::string() : at->second->bytes;
}

}  // namespace gangway::testing
