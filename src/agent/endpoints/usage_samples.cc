#include "agent/endpoints/usage_samples.h"

#include <unistd.h>

#include <charconv>
#include <utility>

#include "sys/files.h"

namespace gangway::agent {
namespace {

constexpr auto kPeriod = std::chrono::seconds(10);
// Below this the steps of the kernel's own counters would show.
constexpr auto kShortest = std::chrono::seconds(1);

// The numbers of a line of text, behind its first word.
std::vector<std::int64_t> numbers_of(std::string_view line) {
  std::vector<std::int64_t> numbers;
  for (auto space = line.find(' '); space != std::string_view::npos; space = line.find(' ')) {
    line.remove_prefix(space + 1);
    std::int64_t number = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), number).ec == std::errc()) numbers.push_back(number);
  }
  return numbers;
}

std::string_view line_of(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    if (line.starts_with(word)) return line;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

std::int64_t kilobytes(std::string_view meminfo, std::string_view word) {
  const auto numbers = numbers_of(line_of(meminfo, word));
  return numbers.empty() ? -1 : numbers.front();
}

}  // namespace

void UsageSamples::Series::add(const Usage& usage, WallTime at, MonoTime now) {
  std::optional<std::int64_t> rate;
  if (point && now > sampled) {
    const auto used = static_cast<double>(usage.cpu_nanoseconds - point->usage.cpu_nanoseconds);
    rate = static_cast<std::int64_t>(std::max(0.0, used) * 1e9 / static_cast<double>((now - sampled).count()));
  }
  point = UsagePoint{at, usage, rate};
  sampled = now;
  seen = true;
}

UsageSamples::UsageSamples(sys::EventLoop& loop, const Runtime& runtime, const PodDirectory& pods, std::string node,
                           std::function<Result<Usage>()> node_usage)
    : loop_(loop), runtime_(runtime), pods_(pods), node_name_(std::move(node)), node_usage_(std::move(node_usage)) {
  schedule();
}

UsageSamples::~UsageSamples() {
  loop_.cancel(timer_);
}

void UsageSamples::schedule() {
  timer_ = loop_.run_after(kPeriod, [this] {
    sample();
    schedule();
  });
}

void UsageSamples::refresh() {
  if (!last_ || loop_.clock().mono() - *last_ >= kShortest) sample();
}

void UsageSamples::sample() {
  const MonoTime now = loop_.clock().mono();
  const WallTime at = loop_.clock().wall();
  last_ = now;
  for (auto& [id, series] : containers_) series.seen = false;
  Usage sum;
  for (const auto& pod : pods_.pods(node_name_)) {
    for (const auto& container : pod.containers) {
      if (!container.running || !container.current) continue;
      const auto usage = runtime_.usage(*container.current);
      if (!usage) continue;
      containers_[*container.current].add(*usage, at, now);
      sum.cpu_nanoseconds += usage->cpu_nanoseconds;
      sum.memory_bytes += usage->memory_bytes;
    }
  }
  std::erase_if(containers_, [](const auto& entry) { return !entry.second.seen; });
  const auto whole = node_usage_ ? node_usage_() : Result<Usage>(sum);
  if (whole) node_.add(*whole, at, now);
}

const UsagePoint* UsageSamples::container(const ContainerId& container) const {
  const auto found = containers_.find(container);
  return found != containers_.end() ? &*found->second.point : nullptr;
}

Result<Usage> machine_usage_of(std::string_view stat, std::string_view meminfo, std::int64_t ticks) {
  // user nice system idle iowait irq softirq steal
  const auto times = numbers_of(line_of(stat, "cpu "));
  const auto total = kilobytes(meminfo, "MemTotal:");
  const auto available = kilobytes(meminfo, "MemAvailable:");
  if (times.size() < 8 || total < 0 || available < 0 || ticks <= 0)
    return internal_error("/proc/stat and /proc/meminfo are not as expected");
  std::int64_t busy = 0;
  for (std::size_t i = 0; i < 8; ++i)
    if (i != 3 && i != 4) busy += times[i];
  return Usage{.cpu_nanoseconds = busy * (1'000'000'000 / ticks), .memory_bytes = (total - available) * 1024};
}

Result<Usage> machine_usage() {
  GW_TRY(const auto stat, sys::read_file("/proc/stat"));
  GW_TRY(const auto meminfo, sys::read_file("/proc/meminfo"));
  return machine_usage_of(stat, meminfo, ::sysconf(_SC_CLK_TCK));
}

}  // namespace gangway::agent
