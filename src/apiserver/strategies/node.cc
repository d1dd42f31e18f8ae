#include <fmt/format.h>

#include <set>

#include "apiserver/strategies/pod_spec.h"
#include "apiserver/strategies/resources.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

// What a node has is what it can give, unless it says less.
void add_defaults(json::Value& node) {
  if (auto cidr = std::string(json::string_at(node, {"spec", "podCIDR"}));
      !cidr.empty() && !json::find(node, {"spec", "podCIDRs"})) {
    json::object_at(node, {"spec"})["podCIDRs"] = json::Array{cidr};
  }
  const auto* capacity = json::find(node, {"status", "capacity"});
  if (!capacity || json::find(node, {"status", "allocatable"})) return;
  auto copy = *capacity;
  json::object_at(node, {"status"})["allocatable"] = std::move(copy);
}

// A new node takes no pods, whatever it says of itself: whoever watches over it takes the taint off.
Result<void> admit(Review& review) {
  constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
  if (review.operation != Operation::kCreate) return {};
  auto& taints = json::object_at(review.object, {"spec"})["taints"];
  if (!taints.is_array()) taints = json::Array();
  for (const auto& taint : taints.get_array()) {
    if (json::string_at(taint, {"key"}) == kNotReady && json::string_at(taint, {"effect"}) == "NoSchedule") return {};
  }
  taints.get_array().push_back(json::Object{{"effect", "NoSchedule"}, {"key", kNotReady}});
  return {};
}

void check_amounts(const Field& status) {
  for (auto key : {"capacity", "allocatable"}) {
    for (const auto& [name, entry] : status[key].entries()) {
      check_resource_amount(name, Field(entry.value(), fmt::format("status.{}.{}", key, name), entry.causes()));
    }
  }
}

void check_update(const Field& node, const Field& before) {
  std::set<std::pair<std::string_view, std::string_view>> addresses;
  for (const auto& address : node["status"]["addresses"].items()) {
    if (!addresses.insert({address["type"].text(), address["address"].text()}).second) address.duplicate();
  }
  auto cidrs = before["spec"]["podCIDRs"];
  if (!cidrs.empty() && !node["spec"]["podCIDRs"].same_as(cidrs)) {
    node["spec"]["podCIDRs"].forbidden("node updates may not change podCIDR except from \"\" to valid");
  }
  auto provider = before["spec"]["providerID"];
  if (!provider.empty() && !node["spec"]["providerID"].same_as(provider)) {
    node["spec"]["providerID"].forbidden("node updates may not change providerID except from \"\" to valid");
  }
}

void validate(Review& review) {
  auto node = new_object(review);
  // The place of taints in messages is the real server's, misleading as it is: clients compare them.
  check_taints(Field(node["spec"]["taints"].value(), "metadata.taints", review.causes));
  check_amounts(node["status"]);
  if (review.old) check_update(node, old_object(review));
}

// podCIDR is the first of podCIDRs.
void prepare(Review& review) {
  auto* spec = json::find(review.object, {"spec"});
  if (!spec || !spec->is_object()) return;
  auto& fields = spec->get_object();
  fields.erase("configSource");
  const auto* list = fields.if_contains("podCIDRs");
  bool listed = list && list->is_array() && !list->get_array().empty();
  auto single = json::string_at(*spec, {"podCIDR"});
  if (!single.empty() && !listed) fields["podCIDRs"] = json::Array{json::Value(single)};
  if (single.empty() && listed) fields["podCIDR"] = list->get_array().front();
}

}  // namespace

const Strategy& node_strategy() {
  static const Strategy strategy{
      .add_defaults = add_defaults, .admit = admit, .prepare = prepare, .validate = validate};
  return strategy;
}

}  // namespace gangway::apiserver
