// Small pieces that the files of OciRuntime share. Not for others.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "agent/oci/oci_runtime.h"

namespace gangway::agent::oci {

template <class T>
void OciRuntime::answer(sys::Completion<T> done, Result<T> value) {
  loop_.post(
      [done = std::move(done), value = std::make_shared<Result<T>>(std::move(value)), alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) done(std::move(*value));
      });
}

// The session of what was not started: there is nothing to write to.
class NoSession final : public ExecSession {
 public:
  void write(std::string) override {}
  std::size_t unsent() const override { return 0; }
  void close_stdin() override {}
  void resize(std::uint16_t, std::uint16_t) override {}
  void pause(bool) override {}
  void kill() override {}
};

}  // namespace gangway::agent::oci
