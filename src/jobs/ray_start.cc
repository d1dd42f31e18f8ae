#include "jobs/ray_start.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity.h"

namespace gangway::jobs {
namespace {

using Flags = std::map<std::string, std::string>;

constexpr std::string_view kUlimit = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}";

// Flags whose value has to be said even where it is a truth.
bool needs_value(std::string_view flag) {
  return flag == "include-dashboard" || flag == "log-color";
}

std::optional<Quantity> quantity_at(const json::Object& amounts, std::string_view resource) {
  const json::Value* given = amounts.if_contains(resource);
  if (given == nullptr) return std::nullopt;
  const auto parsed =
      given->is_string() ? Quantity::parse(json::string_at(*given, {})) : Quantity::of(json::integer_at(*given, {}));
  if (!parsed) return std::nullopt;
  return *parsed;
}

// What Ray calls the accelerators that are no GPUs.
std::string_view custom_resource(std::string_view resource) {
  if (resource == "google.com/tpu") return "TPU";
  return resource == "aws.amazon.com/neuroncore" ? "neuron_cores" : std::string_view();
}

std::string as_resources(const std::map<std::string, std::int64_t>& amounts) {
  json::Object object;
  for (const auto& [name, amount] : amounts) object[name] = amount;
  return shell_quoted(json::serialize(object));
}

void add_amounts(const json::Value& container, Flags& flags) {
  const json::Object& limits = json::map_at(container, {"resources", "limits"});
  const json::Object& requests = json::map_at(container, {"resources", "requests"});
  auto cpus = quantity_at(limits, "cpu");
  if (!cpus) cpus = quantity_at(requests, "cpu");
  if (cpus) flags.try_emplace("num-cpus", std::to_string(cpus->value()));
  if (const auto memory = quantity_at(limits, "memory")) flags.try_emplace("memory", std::to_string(memory->value()));
  std::int64_t gpus = 0;
  std::map<std::string, std::int64_t> others;
  for (const auto& [name, value] : limits) {
    const std::string_view resource = name;
    const auto amount = quantity_at(limits, resource);
    if (!amount || amount->is_zero()) continue;
    if (resource.ends_with("gpu")) gpus += amount->value();
    if (const std::string_view custom = custom_resource(resource); !custom.empty())
      others[std::string(custom)] = amount->value();
  }
  if (gpus > 0) flags.try_emplace("num-gpus", std::to_string(gpus));
  if (!others.empty()) flags.try_emplace("resources", as_resources(others));
}

// What the group says that its nodes have goes before what their containers have.
void add_stated(const json::Value& spec, Flags& flags) {
  std::map<std::string, std::int64_t> others;
  for (const auto& [name, value] : json::map_at(spec, {"resources"})) {
    const auto amount = Quantity::parse(json::string_at(value, {}));
    if (!amount) continue;
    const std::string_view resource = name;
    const std::string text = std::to_string(amount->value());
    if (resource == "CPU") {
      flags["num-cpus"] = text;
    } else if (resource == "GPU") {
      flags["num-gpus"] = text;
    } else if (resource == "memory") {
      flags["memory"] = text;
    } else {
      others[std::string(resource)] = amount->value();
    }
  }
  if (!others.empty()) flags["resources"] = as_resources(others);
  std::string labels;
  for (const auto& [name, value] : json::map_at(spec, {"labels"}))
    labels += fmt::format("{}{}={}", labels.empty() ? "" : ",", std::string_view(name), json::string_at(value, {}));
  if (!labels.empty()) flags["labels"] = shell_quoted(labels);
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

Flags ray_start_flags(const RayCluster& cluster, const RayGroup& group) {
  Flags flags;
  add_stated(group.spec, flags);
  for (const auto& [name, value] : json::map_at(group.spec, {"rayStartParams"}))
    if (value.is_string()) flags[std::string(name)] = json::string_at(value, {});
  if (group.is_head) {
    flags.try_emplace("dashboard-host", "0.0.0.0");
    // The autoscaler beside it decides instead.
    if (cluster.groups.is_autoscaled) flags.try_emplace("no-monitor", "true");
  } else {
    flags.try_emplace("address",
                      fmt::format("{}:{}", ray_head_host(cluster.head_service(), cluster.ns()), cluster.gcs_port()));
  }
  flags.try_emplace("metrics-export-port", "8080");
  flags.try_emplace("dashboard-agent-listen-port", "52365");
  flags.try_emplace("block", "true");
  const json::Array& containers = json::array_at(group.pod_template(), {"spec", "containers"});
  if (!containers.empty()) add_amounts(containers.front(), flags);
  return flags;
}

std::string ray_start_command(const RayCluster& cluster, const RayGroup& group) {
  std::string command = fmt::format("{}; ray start{}", kUlimit, group.is_head ? " --head" : "");
  for (const auto& [name, value] : ray_start_flags(cluster, group)) {
    if ((value == "true" || value == "false") && !needs_value(name)) {
      if (value == "true") command += fmt::format(" --{}", name);
    } else {
      command += fmt::format(" --{}={}", name, value);
    }
  }
  return command;
}

std::string ray_wait_command(const RayCluster& cluster) {
  return fmt::format(
      "until ray health-check --address {}:{} >/dev/null 2>&1; do\n"
      "  echo \"$SECONDS seconds: the head of {} does not answer yet\"\n"
      "  sleep 2\n"
      "done\n",
      ray_head_host(cluster.head_service(), cluster.ns()), cluster.gcs_port(), cluster.name());
}

}  // namespace gangway::jobs
