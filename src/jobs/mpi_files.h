// The texts of an MPIJob's files in /etc/mpi. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::jobs {

// How an mpirun reads how many processes a host is good for: "host slots=2", or "host:2" (Intel's and MPICH's).
enum class HostForm : std::uint8_t { kSlots, kColon };

// One line for each worker that there should be.
std::string mpi_hostfile(const std::vector<std::string>& hosts, std::int64_t slots, HostForm form = HostForm::kSlots);
// A program that prints a line for each worker that runs: its name, with ":<slots>" where they are given.
std::string mpi_discover_hosts(const std::vector<std::string>& running, std::optional<std::int64_t> slots);
// The program by which mpirun starts its daemons: a worker's name, then a command for the shell there; in its first
// container, or in that one.
std::string mpi_remote_start(std::string_view container = "");
// What a worker does before it ends (preStop): it asks what was started in it from outside to end, and waits for that.
// Whoever stops the worker's own program does not reach it.
std::string mpi_end_hook();

}  // namespace gangway::jobs
