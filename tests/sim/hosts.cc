#include "sim/hosts.h"

#include <fmt/format.h>

#include <utility>

namespace gangway::sim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

}  // namespace

Hosts::Hosts(Wire& wire, Gate& gate, RunningPods& pods, const std::vector<agent::NodeSpec>& nodes)
    : wire_(wire), gate_(gate), pods_(pods) {
  for (const auto& spec : nodes) {
    auto host = std::make_unique<Host>();
    host->spec = spec;
    host->machine = std::make_unique<Machine>(wire.simulation(), wire.faults(), pods_, spec.name);
    start_later(*host, wire.simulation().random().up_to(seconds(5)));
    hosts_.push_back(std::move(host));
  }
}

void Hosts::start(Host& host) {
  host.start_is_planned = false;
  if (host.agent) return;
  host.machine->restore_power();
  host.agent = std::make_unique<AgentLife>(wire_, gate_, *host.machine, ++host.lives, host.spec);
  host.agent->process().clock().set_ahead(host.ahead);
}

void Hosts::start_later(Host& host, Duration after) {
  if (std::exchange(host.start_is_planned, true)) return;
  wire_.loop().run_after(after, [this, &host] { start(host); });
}

void Hosts::weather() {
  for (const auto& host : hosts_) befall(*host);
}

void Hosts::befall(Host& host) {
  auto& faults = wire_.faults();
  auto& random = wire_.simulation().random();
  const auto now = wire_.simulation().now();
  if (!host.agent) return;
  if (faults.happens("node.power", 60'000)) host.power_fails = true;
  if (faults.happens("node.cut", 100'000)) wire_.cut(node_user(host.spec.name), now + random.up_to(minutes(20)));
  if (faults.happens("pause.agent", 150'000)) {
    const auto until = now + random.up_to(minutes(2));
    host.agent->process().pause_until(until);
    host.solitude.excuse(until);
  }
  if (faults.happens("clock.agent", 100'000)) {
    host.ahead = random.between(-minutes(3), Duration(minutes(3)));
    host.agent->process().clock().set_ahead(host.ahead);
    host.solitude.excuse(now);
  }
}

void Hosts::judge_solitude(Host& host) {
  const auto now = wire_.simulation().now();
  host.solitude.observe(host.agent && wire_.is_cut(node_user(host.spec.name)), now);
  if (host.solitude.is_too_long(now) && host.machine->running() > 0)
    verdicts_.broken(fmt::format("{} has been alone for too long and still runs {} containers", host.spec.name,
                                 host.machine->running()));
}

void Hosts::after_step() {
  auto& faults = wire_.faults();
  auto& random = wire_.simulation().random();
  for (const auto& host : hosts_) {
    if (host->agent) faults.kills("crash.agent", host->agent->process(), 100);
    if (std::exchange(host->power_fails, false) || host->machine->power_fails()) {
      if (host->agent) host->agent->process().kill();
      host->agent.reset();
      host->machine->lose_power();
      start_later(*host, random.up_to(minutes(20)));
    }
    if (host->agent && !host->agent->process().is_alive()) {
      host->agent.reset();
      // Its containers run on without it: longer than this nobody would be there to stop them in time.
      const bool long_gone = random.below(4) == 0 && !faults.are_stopped();
      start_later(*host, random.up_to(long_gone ? Duration(minutes(3)) : seconds(20)));
    }
    judge_solitude(*host);
  }
}

void Hosts::begin_fair_weather() {
  wire_.mend_all();
  for (const auto& host : hosts_) {
    if (!host->agent) {
      host->start_is_planned = false;
      start_later(*host, seconds(1));
    }
  }
}

bool Hosts::are_all_up() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const auto& host) { return host->agent != nullptr; });
}

const Verdicts* Hosts::broken() const {
  if (!verdicts_.empty()) return &verdicts_;
  for (const auto& host : hosts_)
    if (!host->machine->verdicts().empty()) return &host->machine->verdicts();
  return nullptr;
}

}  // namespace gangway::sim
