#include "crypto/pki_keeper.h"

#include "sys/log.h"

namespace gangway::crypto {
namespace {

// Certificates have months left when their time has come, so that this only says how soon a failure is tried again.
constexpr auto kLookEvery = std::chrono::hours(12);

}  // namespace

PkiKeeper::PkiKeeper(sys::EventLoop& loop, std::string directory, PkiSpec spec, ClusterPki in_use, Use use)
    : loop_(loop),
      directory_(std::move(directory)),
      spec_(std::move(spec)),
      use_(std::move(use)),
      in_use_(std::move(in_use)) {}

void PkiKeeper::start() {
  loop_.post([this] { look_again(); });
}

Result<PkiEnds> PkiKeeper::ends() const {
  std::lock_guard lock(mutex_);
  return ends_of(in_use_);
}

void PkiKeeper::look_again() {
  loop_.run_after(kLookEvery, [this] {
    look();
    look_again();
  });
}

void PkiKeeper::look() {
  auto now = loop_.clock().wall();
  if (!is_due(in_use_, now)) return;
  auto renewed = renew_pki(directory_, spec_, now);
  auto used = renewed ? use_(*renewed) : Result<void>(renewed.error());
  if (!used) return sys::log_error("certificates could not be renewed", {{"error", used.error().message}});
  sys::log_info("certificates were renewed", {{"directory", directory_}});
  std::lock_guard lock(mutex_);
  in_use_ = std::move(*renewed);
}

}  // namespace gangway::crypto
