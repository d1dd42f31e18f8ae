// Faults: the named things that go wrong in a simulation, and the dice that say which of them do, and when.
//
// Code under simulation does not know of it; the seams that a simulation puts in ask at each site. A seed uses about
// half of the sites, each at a rate of its own: one seed is about crashes, another about slow watches, and what only
// shows when one thing happens often is seen too. Owned by the simulation's thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "testing/sim_loop.h"
#include "testing/sim_process.h"

namespace gangway::testing {

class Faults {
 public:
  explicit Faults(Simulation& simulation);

  // Whether the fault happens this time. `per_million` is its highest rate.
  bool happens(std::string_view site, unsigned per_million);
  // Kills the process here, if the dice say so. Returns whether it is dead, now or since before: then the caller must
  // have no more effects.
  bool kills(std::string_view site, SimProcess& process, unsigned per_million);

  // Fair weather from now on.
  void stop() { stopped_ = true; }
  bool are_stopped() const { return stopped_; }
  // No process is killed any more once this many were.
  void set_most_kills(unsigned kills) { kills_left_ = kills; }
  // Only sites whose names begin with one of these; empty: all.
  void allow_only(std::set<std::string> prefixes) { allowed_ = std::move(prefixes); }

  struct Site {
    unsigned rate = 0;  // of this seed, per million
    std::uint64_t asked = 0;
    std::uint64_t happened = 0;
  };
  const std::map<std::string, Site, std::less<>>& sites() const { return sites_; }

 private:
  Site& site(std::string_view name, unsigned per_million);
  bool is_allowed(std::string_view name) const;

  Simulation& simulation_;
  const Random choices_;  // which sites
  Random dice_;           // when
  bool stopped_ = false;
  unsigned kills_left_ = 8;
  std::set<std::string> allowed_;
  std::map<std::string, Site, std::less<>> sites_;
};

}  // namespace gangway::testing
