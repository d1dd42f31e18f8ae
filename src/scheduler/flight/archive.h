// Reading what a FlightLog has written: its own process's files, another's, or a copy on a laptop. Blocking; for
// commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/flight/record.h"

namespace gangway::scheduler::flight {

// "00000000000000000017.flight", for one whose first cycle is 17; and back, 0 for other names.
std::string file_name(std::uint64_t first_cycle);
std::uint64_t number_of(const std::string& path);

// Oldest first. kNotFound when there is no such directory.
Result<std::vector<std::string>> flight_files(const std::string& folder);

// One line of a list.
struct Summary {
  std::uint64_t cycle = 0;
  std::string now = {};
  std::size_t tickets = 0;
  std::size_t evicted = 0;  // pods
  std::size_t waiting = 0;
};

// `notes` hears of files that could only be read in part.
std::vector<Summary> list_cycles(const std::vector<std::string>& files, std::vector<std::string>& notes);
// The cycle of that number; none: the last there is.
Result<CycleRecord> find_cycle(const std::vector<std::string>& files, std::optional<std::uint64_t> number,
                               std::vector<std::string>& notes);

// One cycle as a file of its own.
std::string exported(const CycleRecord& record);

}  // namespace gangway::scheduler::flight
