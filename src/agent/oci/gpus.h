// The NVIDIA GPUs of this machine: how many, in which order, and which device file is which.
//
// Indexes are NVML's, by the place on the bus: what nvidia-smi prints, NVIDIA_VISIBLE_DEVICES means and a node's pods
// are given. Device files carry the driver's minor numbers, which need not be in that order.
//
//   nvidia-smi  ──► who is there (it asks the driver, and sees what this process may)
//   /proc/driver/nvidia/gpus/<bus>/information ──► minor, UUID, model
//   /dev/nvidia<minor> ──► all there is where neither answers
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::agent::oci {

struct Gpu {
  std::string bus;    // "0000:3b:00.0"
  std::string uuid;   // "GPU-…"
  std::string model;  // "NVIDIA A100-SXM4-80GB"
  std::int64_t memory_bytes = 0;
  std::optional<unsigned> minor;
  bool operator==(const Gpu&) const = default;
};

// What nvidia-smi prints when it is asked with kSmiQuery, one GPU a line.
inline constexpr std::string_view kSmiQuery = "--query-gpu=pci.bus_id,uuid,memory.total,name";
std::vector<Gpu> parse_smi(std::string_view printed);
// A driver's `information` file. None for a text that names no GPU.
std::optional<Gpu> parse_information(std::string_view bus, std::string_view text);
// Puts together what the tools, the driver and /dev (its minors) say; the position in the list is the index.
std::vector<Gpu> merge_gpus(std::vector<Gpu> of_smi, std::vector<Gpu> of_driver, std::vector<unsigned> minors);

// ── blocking ──

// Without asking nvidia-smi, which takes seconds where the driver sleeps.
std::vector<Gpu> gpus_by_files(const std::string& proc = "/proc", const std::string& dev = "/dev");
std::vector<Gpu> find_gpus();

}  // namespace gangway::agent::oci
