// PkiKeeper: looks at the certificates of a cluster that runs, and has those renewed that near their end.
//
// It works on one loop, which it blocks for milliseconds at a time (files, keys); ends() may be called from any thread.
// It is made before that loop has anything of it to do and goes when the loop runs no more.
#pragma once

#include <functional>
#include <mutex>

#include "crypto/pki.h"
#include "sys/event_loop.h"

namespace gangway::crypto {

class PkiKeeper {
 public:
  // Takes the renewed certificates into use, on the loop. What it cannot take is offered again at the next look.
  using Use = std::function<Result<void>(const ClusterPki& renewed)>;

  PkiKeeper(sys::EventLoop& loop, std::string directory, PkiSpec spec, ClusterPki in_use, Use use);
  PkiKeeper(const PkiKeeper&) = delete;
  PkiKeeper& operator=(const PkiKeeper&) = delete;

  void start();
  // Of the certificates in use.
  Result<PkiEnds> ends() const;

 private:
  void look_again();
  void look();

  sys::EventLoop& loop_;
  const std::string directory_;
  const PkiSpec spec_;
  const Use use_;
  mutable std::mutex mutex_;
  ClusterPki in_use_;  // guarded by mutex_
};

}  // namespace gangway::crypto
