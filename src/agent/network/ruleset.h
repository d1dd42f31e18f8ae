// Ruleset: brings scripts to the kernel by `nft -f -`, one at a time, and of those that wait only the newest.
//
// Each script replaces the whole of its table, so what lies between two of them need not be seen. A script that is in
// the kernel already is not brought again. Belongs to the runner's loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sys/command.h"
#include "sys/event_loop.h"

namespace gangway::agent {

class Ruleset {
 public:
  Ruleset(sys::EventLoop& loop, sys::CommandRunner& runner) : loop_(loop), runner_(runner) {}
  Ruleset(const Ruleset&) = delete;
  Ruleset& operator=(const Ruleset&) = delete;

  // Answers when this script, or one that came after it, is in the kernel.
  void apply(std::string script, sys::Completion<void> done);
  // How many scripts were brought.
  std::size_t applied() const { return count_; }

 private:
  using Waiters = std::vector<sys::Completion<void>>;
  void start();
  void finished(const Result<std::string>& result);

  sys::EventLoop& loop_;
  sys::CommandRunner& runner_;
  std::optional<std::string> in_kernel_;  // none: not known
  std::optional<std::string> under_way_;
  Waiters waiting_for_it_;
  std::optional<std::string> next_;
  Waiters waiting_for_next_;
  std::size_t count_ = 0;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::agent
