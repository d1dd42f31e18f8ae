#include "apiserver/strategies/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kHugePages = "hugepages-";
constexpr std::string_view kNativePrefix = "kubernetes.io/";
constexpr std::array<std::string_view, 20> kStandard = {"cpu",
                                                        "memory",
                                                        "ephemeral-storage",
                                                        "requests.cpu",
                                                        "requests.memory",
                                                        "requests.ephemeral-storage",
                                                        "limits.cpu",
                                                        "limits.memory",
                                                        "limits.ephemeral-storage",
                                                        "pods",
                                                        "resourcequotas",
                                                        "services",
                                                        "replicationcontrollers",
                                                        "secrets",
                                                        "configmaps",
                                                        "persistentvolumeclaims",
                                                        "storage",
                                                        "requests.storage",
                                                        "services.nodeports",
                                                        "services.loadbalancers"};
constexpr std::array<std::string_view, 9> kWhole = {
    "pods",       "resourcequotas",         "services",           "replicationcontrollers", "secrets",
    "configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"};

template <class List>
bool contains(const List& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool is_native(std::string_view resource) {
  return resource.find('/') == std::string_view::npos || resource.find(kNativePrefix) != std::string_view::npos;
}

bool may_overcommit(std::string_view resource) {
  return is_native(resource) && !is_huge_page(resource);
}

bool check_name(std::string_view resource, const Field& entry) {
  auto messages = names::check_qualified_name(resource);
  for (const auto& message : messages) entry.invalid(json::Value(resource), message);
  if (!messages.empty()) return false;
  if (resource.find('/') != std::string_view::npos || contains(kStandard, resource) || is_huge_page(resource))
    return true;
  entry.invalid(json::Value(resource), "must be a standard resource type or fully qualified");
  return false;
}

void check_container_resource_name(std::string_view resource, const Field& entry) {
  check_name(resource, entry);
  if (resource.find('/') == std::string_view::npos) {
    if (resource != "cpu" && resource != "memory" && resource != "ephemeral-storage" && !is_huge_page(resource)) {
      entry.invalid(json::Value(resource), "must be a standard resource for containers");
    }
  } else if (!is_native(resource) && !is_extended_resource(resource)) {
    entry.invalid(json::Value(resource), "doesn't follow extended resource name standard");
  }
}

void check_huge_pages(std::string_view resource, const Field& entry) {
  auto amount = entry.quantity();
  auto page = Quantity::parse(resource.substr(kHugePages.size()));
  if (!amount || (page && page->value() > 0 && amount->value() % page->value() == 0)) return;
  entry.invalid(json::Value(amount->to_string()),
                fmt::format("{} is not positive integer multiple of {}", amount->to_string(), resource));
}

struct Seen {
  bool compute = false;
  bool huge_pages = false;
};

void check_entry(std::string_view resource, const Field& entry, Seen& seen) {
  check_container_resource_name(resource, entry);
  check_resource_amount(resource, entry);
  if (is_huge_page(resource)) {
    seen.huge_pages = true;
    check_huge_pages(resource, entry);
  }
  seen.compute |= resource == "cpu" || resource == "memory";
}

void check_against_limit(std::string_view resource, const Field& request, const Field& resources) {
  auto limits = resources["limits"];
  auto amount = request.quantity();
  auto limit = limits.key(resource).quantity();
  if (!limit) {
    if (!may_overcommit(resource)) limits.required("Limit must be set for non overcommitable resources");
    return;
  }
  if (!amount || *amount == *limit) return;
  auto refuse = [&](std::string_view rule) {
    resources["requests"].invalid(json::Value(amount->to_string()),
                                  fmt::format("{} {} limit of {}", rule, resource, limit->to_string()));
  };
  if (!may_overcommit(resource)) {
    refuse("must be equal to");
  } else if (*amount > *limit) {
    refuse("must be less than or equal to");
  }
}

void check_requirements(const Field& resources) {
  Seen seen;
  for (const auto& [resource, limit] : resources["limits"].entries()) check_entry(resource, limit, seen);
  for (const auto& [resource, request] : resources["requests"].entries()) {
    check_entry(resource, request, seen);
    check_against_limit(resource, request, resources);
  }
  if (seen.huge_pages && !seen.compute) resources.forbidden("HugePages require cpu or memory");
}

}  // namespace

bool is_huge_page(std::string_view resource) {
  return resource.starts_with(kHugePages);
}

bool is_extended_resource(std::string_view resource) {
  if (is_native(resource) || resource.starts_with("requests.")) return false;
  return names::check_qualified_name(fmt::format("requests.{}", resource)).empty();
}

void check_resource_amount(std::string_view resource, const Field& amount) {
  auto quantity = amount.quantity();
  if (!quantity) return;
  if (quantity->is_negative()) {
    amount.invalid(json::Value(quantity->to_string()), "must be greater than or equal to 0");
  }
  if ((contains(kWhole, resource) || is_extended_resource(resource)) && quantity->milli_value() % 1000 != 0) {
    amount.invalid(json::Value(quantity->to_string()), "must be an integer");
  }
}

void check_container_resources(const Field& resources) {
  if (resources) check_requirements(resources);
}

}  // namespace gangway::apiserver
