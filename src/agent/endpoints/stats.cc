#include "agent/endpoints/stats.h"

#include <fmt/format.h>

#include <functional>
#include <iterator>

namespace gangway::agent {
namespace {

json::Object cpu_of(const UsagePoint& point) {
  json::Object cpu{{"time", to_rfc3339(point.at)}, {"usageCoreNanoSeconds", point.usage.cpu_nanoseconds}};
  if (point.nano_cores) cpu["usageNanoCores"] = *point.nano_cores;
  return cpu;
}

json::Object memory_of(const UsagePoint& point) {
  return {{"time", to_rfc3339(point.at)},
          {"usageBytes", point.usage.memory_bytes},
          {"workingSetBytes", point.usage.memory_bytes}};
}

std::int64_t milliseconds(WallTime time) {
  return std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
}

double seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

// One metric with all its samples.
class Family {
 public:
  Family(std::string& out, std::string_view name, std::string_view type, std::string_view help)
      : out_(out), name_(name) {
    fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void add(std::string_view labels, double value, WallTime at) {
    fmt::format_to(std::back_inserter(out_), "{}{} {} {}\n", name_, labels, value, milliseconds(at));
  }

 private:
  std::string& out_;
  std::string_view name_;
};

std::string labels_of(const PodUsage& pod) {
  return fmt::format(R"({{namespace="{}",pod="{}"}})", pod.identity.ns, pod.identity.name);
}

std::string labels_of(const PodUsage& pod, const ContainerUsage& container) {
  return fmt::format(R"({{container="{}",namespace="{}",pod="{}"}})", container.name, pod.identity.ns,
                     pod.identity.name);
}

using OfContainer = std::function<double(const ContainerUsage&)>;

void add_containers(Family family, const NodeUsage& usage, const OfContainer& value) {
  for (const auto& pod : usage.pods)
    for (const auto& container : pod.containers)
      family.add(labels_of(pod, container), value(container), container.point.at);
}

void add_pods(Family family, const NodeUsage& usage, const std::function<double(const UsagePoint&)>& value) {
  for (const auto& pod : usage.pods) {
    const auto point = pod_point(pod);
    family.add(labels_of(pod), value(point), point.at);
  }
}

}  // namespace

NodeUsage usage_of(const std::string& node, WallTime started_at, const std::vector<ServedPod>& pods,
                   const UsageSamples& samples) {
  NodeUsage usage{.node = node, .started_at = started_at, .point = {}, .pods = {}};
  if (const auto* point = samples.node()) usage.point = *point;
  for (const auto& pod : pods) {
    PodUsage of_pod{.identity = pod.identity, .started_at = pod.started_at.value_or(started_at), .containers = {}};
    for (const auto& container : pod.containers) {
      const auto* point = container.running && container.current ? samples.container(*container.current) : nullptr;
      if (point != nullptr)
        of_pod.containers.push_back({container.name, container.started_at.value_or(of_pod.started_at), *point});
    }
    if (!of_pod.containers.empty()) usage.pods.push_back(std::move(of_pod));
  }
  return usage;
}

UsagePoint pod_point(const PodUsage& pod) {
  UsagePoint sum{.at = pod.containers.front().point.at, .usage = {}, .nano_cores = 0};
  for (const auto& container : pod.containers) {
    const auto& point = container.point;
    sum.at = std::max(sum.at, point.at);
    sum.usage.cpu_nanoseconds += point.usage.cpu_nanoseconds;
    sum.usage.memory_bytes += point.usage.memory_bytes;
    if (sum.nano_cores && point.nano_cores)
      *sum.nano_cores += *point.nano_cores;
    else
      sum.nano_cores.reset();
  }
  return sum;
}

json::Value summary_of(const NodeUsage& usage) {
  json::Object node{{"nodeName", usage.node}, {"startTime", to_rfc3339(usage.started_at)}};
  if (usage.point) {
    node["cpu"] = cpu_of(*usage.point);
    node["memory"] = memory_of(*usage.point);
  }
  json::Array pods;
  for (const auto& pod : usage.pods) {
    json::Array containers;
    for (const auto& container : pod.containers)
      containers.push_back(json::Object{{"name", container.name},
                                        {"startTime", to_rfc3339(container.started_at)},
                                        {"cpu", cpu_of(container.point)},
                                        {"memory", memory_of(container.point)}});
    const auto point = pod_point(pod);
    pods.push_back(json::Object{
        {"podRef",
         json::Object{{"name", pod.identity.name}, {"namespace", pod.identity.ns}, {"uid", pod.identity.uid}}},
        {"startTime", to_rfc3339(pod.started_at)},
        {"containers", std::move(containers)},
        {"cpu", cpu_of(point)},
        {"memory", memory_of(point)}});
  }
  return json::Object{{"node", std::move(node)}, {"pods", std::move(pods)}};
}

std::string resource_metrics_of(const NodeUsage& usage) {
  std::string out;
  add_containers(Family(out, "container_cpu_usage_seconds_total", "counter", "CPU time a container has used."), usage,
                 [](const ContainerUsage& c) { return seconds(c.point.usage.cpu_nanoseconds); });
  add_containers(Family(out, "container_memory_working_set_bytes", "gauge", "Memory a container cannot do without."),
                 usage, [](const ContainerUsage& c) { return static_cast<double>(c.point.usage.memory_bytes); });
  add_containers(Family(out, "container_start_time_seconds", "gauge", "When a container was started."), usage,
                 [](const ContainerUsage& c) { return seconds(c.started_at.time_since_epoch().count()); });
  Family node_cpu(out, "node_cpu_usage_seconds_total", "counter", "CPU time the node has used.");
  if (usage.point) node_cpu.add("", seconds(usage.point->usage.cpu_nanoseconds), usage.point->at);
  Family node_memory(out, "node_memory_working_set_bytes", "gauge", "Memory the node cannot do without.");
  if (usage.point) node_memory.add("", static_cast<double>(usage.point->usage.memory_bytes), usage.point->at);
  add_pods(Family(out, "pod_cpu_usage_seconds_total", "counter", "CPU time a pod has used."), usage,
           [](const UsagePoint& point) { return seconds(point.usage.cpu_nanoseconds); });
  add_pods(Family(out, "pod_memory_working_set_bytes", "gauge", "Memory a pod cannot do without."), usage,
           [](const UsagePoint& point) { return static_cast<double>(point.usage.memory_bytes); });
  out += "# HELP resource_scrape_error 1 when something could not be read.\n# TYPE resource_scrape_error gauge\n";
  out += "resource_scrape_error 0\n";
  return out;
}

}  // namespace gangway::agent
