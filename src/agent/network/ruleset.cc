#include "agent/network/ruleset.h"

#include <utility>

namespace gangway::agent {

void Ruleset::apply(std::string script, sys::Completion<void> done) {
  if (!under_way_ && in_kernel_ == script) return loop_.post([done = std::move(done)] { done({}); });
  if (!next_ && under_way_ == script) return waiting_for_it_.push_back(std::move(done));
  next_ = std::move(script);
  waiting_for_next_.push_back(std::move(done));
  if (!under_way_) start();
}

void Ruleset::start() {
  under_way_ = std::exchange(next_, std::nullopt);
  waiting_for_it_ = std::exchange(waiting_for_next_, {});
  sys::Command command{.argv = {"nft", "-f", "-"}, .input = *under_way_};
  ++count_;
  runner_.run(command, [this, command, life = std::weak_ptr(life_)](Result<sys::CommandResult> result) {
    if (!life.expired()) finished(sys::require_success(command, std::move(result)));
  });
}

void Ruleset::finished(const Result<std::string>& result) {
  in_kernel_ = result ? std::exchange(under_way_, std::nullopt) : std::nullopt;
  under_way_.reset();
  auto waiters = std::exchange(waiting_for_it_, {});
  if (next_) start();
  for (const auto& done : waiters) done(result ? Result<void>() : Result<void>(result.error()));
}

}  // namespace gangway::agent
