#include "testing/faults.h"

#include <algorithm>

namespace gangway::testing {

Faults::Faults(Simulation& simulation)
    : simulation_(simulation), choices_(simulation.random().fork("fault sites")), dice_(choices_.fork("dice")) {}

bool Faults::is_allowed(std::string_view name) const {
  return allowed_.empty() ||
         std::any_of(allowed_.begin(), allowed_.end(), [&](const auto& prefix) { return name.starts_with(prefix); });
}

Faults::Site& Faults::site(std::string_view name, unsigned per_million) {
  auto at = sites_.find(name);
  if (at == sites_.end()) {
    Random choice = choices_.fork(name);
    const bool used = choice.below(2) == 0 && is_allowed(name);
    at = sites_.emplace(std::string(name), Site{.rate = used ? per_million >> choice.below(5) : 0}).first;
  }
  return at->second;
}

bool Faults::happens(std::string_view site_name, unsigned per_million) {
  Site& here = site(site_name, per_million);
  ++here.asked;
  if (stopped_ || here.rate == 0 || dice_.below(1'000'000) >= here.rate) return false;
  ++here.happened;
  simulation_.note("fault", site_name);
  return true;
}

bool Faults::kills(std::string_view site_name, SimProcess& process, unsigned per_million) {
  if (!process.is_alive()) return true;
  if (kills_left_ == 0 || !happens(site_name, per_million)) return false;
  --kills_left_;
  process.kill();
  return true;
}

}  // namespace gangway::testing
