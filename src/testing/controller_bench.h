// ControllerBench: a reconciler at work on a fake cluster, for its tests.
#pragma once

#include <cstddef>
#include <memory>

#include "client/controller.h"
#include "client/mirror.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::testing {

struct ControllerBench {
  ManualLoop loop;
  FakeApi api{loop};
  client::Mirror mirror{api, loop};
  std::unique_ptr<client::Controller> controller;

  void start(const client::Reconciler& reconciler, client::ProbeRunner* probes = nullptr) {
    controller = std::make_unique<client::Controller>(api, loop, mirror, reconciler,
                                                      client::ControllerOptions{.name = "under-test"}, probes);
    controller->start();
    loop.run_until_idle();
  }
  // Looks at everything again and returns how many writes that led to: none, for a reconciler at rest.
  std::size_t writes_when_looking_again() {
    api.forget_calls();
    controller->resync();
    loop.run_until_idle();
    return api.writes().size();
  }
};

}  // namespace gangway::testing
