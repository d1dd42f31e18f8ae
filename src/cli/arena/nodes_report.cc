#include "cli/arena/nodes_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/pod_requests.h"
#include "cli/arena/job_roles.h"
#include "cli/arena/table.h"

namespace gangway::cli::arena {
namespace {

const std::string kDashes(89, '-');

std::int64_t gpus_in(const json::Value* quantities) {
  std::int64_t gpus = 0;
  for (const auto& [resource, amount] : api::read_amounts(quantities))
    if (resource.ends_with("/gpu")) gpus = api::sum_of(gpus, amount);
  return gpus;
}

std::string role_of_node(const json::Value& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  for (const auto& [key, value] : json::map_at(node, {"metadata", "labels"})) {
    if (std::string_view(key).starts_with(kPrefix))
      roles.insert(std::string(std::string_view(key).substr(kPrefix.size())));
    if (std::string_view(key) == "kubernetes.io/role" && value.is_string())
      roles.insert(std::string(value.get_string()));
  }
  return roles.empty() ? "<none>" : fmt::format("{}", fmt::join(roles, ","));
}

// Where it is reached from inside; a name where it has no such address.
std::string address_of(const json::Value& node) {
  const json::Array& addresses = json::array_at(node, {"status", "addresses"});
  for (const json::Value& each : addresses)
    if (json::string_at(each, {"type"}) == "InternalIP") return std::string(json::string_at(each, {"address"}));
  return addresses.empty() ? "" : std::string(json::string_at(addresses[0], {"address"}));
}

std::string status_of_node(const json::Value& node) {
  std::string status = "unknown";
  for (const json::Value& condition : json::array_at(node, {"status", "conditions"})) {
    if (json::string_at(condition, {"type"}) != "Ready") continue;
    const std::string_view ready = json::string_at(condition, {"status"});
    status = ready == "True" ? "ready" : ready == "False" ? "notReady" : "unknown";
  }
  return json::flag_at(node, {"spec", "unschedulable"}) ? status + ",schedulingDisabled" : status;
}

NodeReport::Holder holder_of(const json::Value& pod) {
  NodeReport::Holder holder;
  holder.ns = json::string_at(pod, {"metadata", "namespace"});
  holder.name = json::string_at(pod, {"metadata", "name"});
  const bool is_ending = json::find(pod, {"metadata", "deletionTimestamp"}) != nullptr;
  holder.status = is_ending ? "Terminating" : std::string(json::string_at(pod, {"status", "phase"}));
  for (const auto& [resource, amount] : api::pod_requests(pod))
    if (resource.ends_with("/gpu")) holder.requests = api::sum_of(holder.requests, amount);
  if (const json::Value* spec = json::find(pod, {"spec"})) holder.limits = gpus_of(*spec);
  return holder;
}

bool is_over(const json::Value& pod) {
  const std::string_view phase = json::string_at(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

std::int64_t percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : part * 100 / whole;
}

struct Sums {
  std::int64_t total = 0;
  std::int64_t allocated = 0;
  std::string text() const { return fmt::format("{}/{} ({}%)", allocated, total, percent(allocated, total)); }
};

Sums sums_of(const std::vector<NodeReport>& nodes) {
  Sums sums;
  for (const NodeReport& node : nodes) {
    sums.total += node.total;
    sums.allocated += node.allocated;
  }
  return sums;
}

}  // namespace

Result<std::vector<NodeReport>> report_nodes(const std::vector<json::Value>& nodes,
                                             const std::vector<json::Value>& pods,
                                             const std::vector<std::string>& names) {
  std::map<std::string, std::vector<NodeReport::Holder>, std::less<>> held;
  for (const json::Value& pod : pods) {
    const std::string_view node = json::string_at(pod, {"spec", "nodeName"});
    if (node.empty() || is_over(pod)) continue;
    NodeReport::Holder holder = holder_of(pod);
    if (holder.limits > 0 || holder.requests > 0) held[std::string(node)].push_back(std::move(holder));
  }
  std::vector<NodeReport> reports;
  for (const json::Value& node : nodes) {
    NodeReport report;
    report.name = json::string_at(node, {"metadata", "name"});
    if (!names.empty() && std::find(names.begin(), names.end(), report.name) == names.end()) continue;
    report.address = address_of(node);
    report.role = role_of_node(node);
    report.status = status_of_node(node);
    report.total = gpus_in(json::find(node, {"status", "capacity"}));
    report.healthy = gpus_in(json::find(node, {"status", "allocatable"}));
    report.holders = std::move(held[report.name]);
    std::sort(report.holders.begin(), report.holders.end(),
              [](const auto& a, const auto& b) { return std::tie(a.ns, a.name) < std::tie(b.ns, b.name); });
    for (const NodeReport::Holder& holder : report.holders)
      report.allocated += std::max(holder.limits, holder.requests);
    reports.push_back(std::move(report));
  }
  for (const std::string& name : names)
    if (std::none_of(reports.begin(), reports.end(), [&](const NodeReport& report) { return report.name == name; }))
      return bad_request(fmt::format("nodes not found: {}", name));
  std::stable_partition(reports.begin(), reports.end(), [](const NodeReport& report) { return report.total == 0; });
  return reports;
}

std::string nodes_text(const std::vector<NodeReport>& nodes) {
  const bool any_ill =
      std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.healthy < node.total; });
  Table table;
  std::vector<std::string> header = {"NAME", "IPADDRESS", "ROLE", "STATUS", "GPU(Total)", "GPU(Allocated)"};
  if (any_ill) header.emplace_back("UNHEALTHY");
  table.row(header);
  std::int64_t ill = 0;
  for (const NodeReport& node : nodes) {
    std::vector<std::string> row = {
        node.name, node.address, node.role, node.status, std::to_string(node.total), std::to_string(node.allocated)};
    const std::int64_t missing = std::max<std::int64_t>(0, node.total - node.healthy);
    if (any_ill) row.push_back(std::to_string(missing));
    ill += missing;
    table.row(std::move(row));
  }
  const Sums sums = sums_of(nodes);
  std::string text = fmt::format("{}{}\nAllocated/Total GPUs In Cluster:\n{}\n", table.text(), kDashes, sums.text());
  if (any_ill)
    text += fmt::format("Unhealthy/Total GPUs In Cluster:\n{}/{} ({}%)\n", ill, sums.total, percent(ill, sums.total));
  return text;
}

std::string nodes_details(const std::vector<NodeReport>& nodes) {
  std::string text;
  for (const NodeReport& node : nodes) {
    if (node.total == 0) continue;
    Table head;
    head.row({"NAME:", node.name});
    head.row({"IPADDRESS:", node.address});
    head.row({"ROLE:", node.role});
    Table pods;
    pods.row({"NAMESPACE", "NAME", "GPU REQUESTS", "GPU LIMITS"});
    for (const NodeReport::Holder& holder : node.holders)
      pods.row({holder.ns, holder.name, std::to_string(holder.requests), std::to_string(holder.limits)});
    Table totals;
    totals.row({fmt::format("Total GPUs In Node {}:", node.name), std::to_string(node.total)});
    totals.row({fmt::format("Allocated GPUs In Node {}:", node.name),
                fmt::format("{} ({}%)", node.allocated, percent(node.allocated, node.total))});
    text += fmt::format("\n{}\n{}\n{}{}\n", head.text(), pods.text(), totals.text(), kDashes);
  }
  const Sums sums = sums_of(nodes);
  return text + fmt::format("\nAllocated/Total GPUs In Cluster:  {}\n", sums.text());
}

json::Value to_json(const std::vector<NodeReport>& nodes) {
  json::Array with;
  json::Array without;
  for (const NodeReport& node : nodes) {
    json::Array instances;
    for (const NodeReport::Holder& holder : node.holders)
      instances.push_back(json::Object{
          {"name", holder.name}, {"namespace", holder.ns}, {"status", holder.status}, {"requestGPUs", holder.limits}});
    const bool has_gpus = node.total > 0;
    json::Object object{{"instances", std::move(instances)},
                        {"name", node.name},
                        {"description", has_gpus ? "pods may ask for its GPUs one by one" : "has no GPUs"},
                        {"ip", node.address},
                        {"status", node.status},
                        {"role", node.role == "<none>" ? "" : node.role},
                        {"type", has_gpus ? "GPUExclusive" : "Normal"}};
    if (!has_gpus) {
      object.erase("instances");
      without.push_back(std::move(object));
      continue;
    }
    object["totalGPUs"] = node.total;
    object["allocatedGPUs"] = node.allocated;
    object["unhealthyGPUs"] = std::max<std::int64_t>(0, node.total - node.healthy);
    object["gpuMetrics"] = json::Array();
    with.push_back(std::move(object));
  }
  return json::Object{{"gpuExclusiveNodes", std::move(with)},
                      {"gpuShareNodes", json::Array()},
                      {"gpuTopologyNodes", json::Array()},
                      {"normalNodes", std::move(without)}};
}

}  // namespace gangway::cli::arena
