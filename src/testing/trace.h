// Trace: what happened in a simulation, as one number, and as lines for whoever wants to read them.
//
// Two runs with the same hash did the same things in the same order at the same virtual times. Owned by the thread of
// its simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace gangway::testing {

class Trace {
 public:
  using Show = std::function<void(MonoTime, std::string_view who, std::string_view what, std::string_view detail)>;

  // Lines go there from now on. The hash is the same with and without.
  void show_to(Show show) { show_ = std::move(show); }
  bool is_shown() const { return show_ != nullptr; }

  // A step too small for a line.
  void mix(std::uint64_t number) { hash_ = (hash_ ^ number) * 0x100000001b3ULL + (hash_ >> 29); }
  // `detail` is for the reader only, and may be left out when there is none.
  void note(MonoTime at, std::string_view who, std::string_view what, std::string_view detail = {}) {
    mix(static_cast<std::uint64_t>(at.time_since_epoch().count()));
    for (const auto text : {who, what}) {
      mix(text.size());
      for (const char c : text) mix(static_cast<unsigned char>(c));
    }
    if (show_) show_(at, who, what, detail);
  }

  std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
  Show show_;
};

}  // namespace gangway::testing
