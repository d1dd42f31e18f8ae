#include "agent/oci/gpus.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <utility>

#include "sys/command.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The part before `by`; `rest` goes on behind it.
std::string_view take_until(std::string_view& rest, char by) {
  const auto end = std::min(rest.find(by), rest.size());
  const auto part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// nvidia-smi writes "00000000:3B:00.0" for what the kernel calls "0000:3b:00.0".
std::string kernel_bus(std::string_view bus) {
  std::string result(bus);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto domain = result.find(':');
  if (domain != std::string::npos && domain > 4 && result.starts_with(std::string(domain - 4, '0')))
    result.erase(0, domain - 4);
  return result;
}

void sort_by_bus(std::vector<Gpu>& gpus) {
  std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.bus < b.bus; });
}

std::vector<Gpu> gpus_of_driver(const std::string& proc) {
  std::vector<Gpu> gpus;
  std::error_code error;
  for (fs::directory_iterator at(proc + "/driver/nvidia/gpus", error), end; !error && at != end; at.increment(error)) {
    const auto text = sys::read_file(at->path().string() + "/information").value_or("");
    if (auto gpu = parse_information(at->path().filename().string(), text)) gpus.push_back(std::move(*gpu));
  }
  return gpus;
}

// nvidiactl and nvidia-uvm are no GPUs.
std::vector<unsigned> minors_in(const std::string& dev) {
  constexpr std::string_view kPrefix = "nvidia";
  std::vector<unsigned> minors;
  std::error_code error;
  for (fs::directory_iterator at(dev, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    if (const auto minor = number(std::string_view(name).substr(kPrefix.size()))) minors.push_back(*minor);
  }
  return minors;
}

}  // namespace

std::vector<Gpu> parse_smi(std::string_view printed) {
  std::vector<Gpu> gpus;
  while (!printed.empty()) {
    auto line = take_until(printed, '\n');
    Gpu gpu;
    gpu.bus = kernel_bus(trimmed(take_until(line, ',')));
    gpu.uuid = trimmed(take_until(line, ','));
    const auto mebibytes = number(trimmed(take_until(line, ',')));
    gpu.memory_bytes = static_cast<std::int64_t>(mebibytes.value_or(0)) << 20U;
    gpu.model = trimmed(line);
    // Anything else it prints is a complaint.
    if (gpu.uuid.starts_with("GPU-")) gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::optional<Gpu> parse_information(std::string_view bus, std::string_view text) {
  Gpu gpu;
  gpu.bus = kernel_bus(bus);
  while (!text.empty()) {
    auto line = take_until(text, '\n');
    const auto key = trimmed(take_until(line, ':'));
    const auto value = trimmed(line);
    if (key == "Model") gpu.model = value;
    if (key == "GPU UUID" && value.starts_with("GPU-")) gpu.uuid = value;
    if (key == "Device Minor") gpu.minor = number(value);
  }
  if (!gpu.minor) return std::nullopt;
  return gpu;
}

std::vector<Gpu> merge_gpus(std::vector<Gpu> of_smi, std::vector<Gpu> of_driver, std::vector<unsigned> minors) {
  std::sort(minors.begin(), minors.end());
  // In a container the driver tells of all GPUs of the machine, also of those that were not given to it.
  std::erase_if(of_driver,
                [&](const Gpu& gpu) { return !std::binary_search(minors.begin(), minors.end(), gpu.minor); });
  sort_by_bus(of_smi);
  sort_by_bus(of_driver);
  if (of_smi.empty() && !of_driver.empty()) return of_driver;
  if (of_smi.empty()) of_smi.resize(minors.size());
  for (std::size_t index = 0; index < of_smi.size(); ++index) {
    auto& gpu = of_smi[index];
    const auto known = std::find_if(of_driver.begin(), of_driver.end(), [&](const Gpu& g) { return g.bus == gpu.bus; });
    if (known != of_driver.end()) {
      gpu.minor = known->minor;
    } else if (of_driver.empty() && of_smi.size() == minors.size()) {
      gpu.minor = minors[index];
    }
  }
  return of_smi;
}

std::vector<Gpu> gpus_by_files(const std::string& proc, const std::string& dev) {
  return merge_gpus({}, gpus_of_driver(proc), minors_in(dev));
}

std::vector<Gpu> find_gpus() {
  const auto printed =
      sys::run_and_wait({.argv = {"nvidia-smi", std::string(kSmiQuery), "--format=csv,noheader,nounits"},
                         .timeout = std::chrono::seconds(20)});
  auto of_smi = printed && printed->ok() ? parse_smi(printed->out) : std::vector<Gpu>();
  return merge_gpus(std::move(of_smi), gpus_of_driver("/proc"), minors_in("/dev"));
}

}  // namespace gangway::agent::oci
