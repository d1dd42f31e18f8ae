// PodGroup, Allotment and Configuration: what scheduling of gangs is asked for, grants, and goes by.
#include <fmt/format.h>

#include <set>

#include "apiserver/strategies/gang_annotations.h"
#include "apiserver/strategies/resources.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"
#include "base/time.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kConfigurationName = "default";

void check_amounts(const Field& amounts) {
  for (const auto& [resource, amount] : amounts.entries()) {
    for (const auto& message : names::check_qualified_name(resource)) {
      amounts.invalid(json::Value(resource), message);
    }
    // What is no quantity at all is the schema's to refuse.
    if (amount.quantity()) check_resource_amount(resource, amount);
  }
}

void validate_pod_group(Review& review) {
  if (!review.subresource.empty()) return;
  auto group = new_object(review);
  check_amounts(group["spec"]["minResources"]);
  check_group_annotations(group, old_object(review));
}

void validate_allotment(Review& review) {
  if (!review.subresource.empty()) return;
  for (const auto& hold : new_object(review)["spec"]["holds"].items()) check_amounts(hold["requests"]);
}

void warn_of_unknown_class(Review& review, const Field& top_class) {
  if (top_class.empty()) return;
  std::vector<std::string_view> known;
  for (const auto& version : review.facts.state.objects("priorityclasses.scheduling.k8s.io")) {
    known.push_back(version.header->name.name);
    if (known.back() == top_class.text()) return;
  }
  review.warnings.push_back(fmt::format("{}: there is no PriorityClass \"{}\"; there are: {}", top_class.path(),
                                        top_class.text(), fmt::join(known, ", ")));
}

void check_topology(const Field& topology) {
  std::set<std::string_view> seen;
  for (const auto& label : topology.items()) {
    label.invalid_each(names::check_qualified_name(label.text()));
    if (!seen.insert(label.text()).second) label.duplicate();
  }
}

void check_duration(const Field& text) {
  if (!text) return;
  auto duration = parse_duration(text.text());
  if (!duration) {
    text.invalid("must be a duration such as 90s, 10m or 1h30m");
  } else if (*duration < Duration(0)) {
    text.invalid("must not be negative");
  }
}

void validate_configuration(Review& review) {
  auto object = new_object(review);
  auto scheduling = object["spec"]["scheduling"];
  check_duration(scheduling["minRuntimeLimit"]);
  check_duration(object["spec"]["usage"]["retention"]);
  check_topology(scheduling["topology"]);
  if (auto top_class = scheduling["topPriorityClass"]; !top_class.empty()) {
    top_class.invalid_each(names::check_dns1123_subdomain(top_class.text()));
    warn_of_unknown_class(review, top_class);
  }
  if (auto name = object["metadata"]["name"]; name.text() != kConfigurationName) {
    review.warnings.push_back(fmt::format("{}: only the Configuration named \"{}\" counts, not \"{}\"", name.path(),
                                          kConfigurationName, name.text()));
  }
}

// As custom resources are treated: on a cluster of another make these kinds are some.
Strategy custom_with(void (*validate)(Review& review)) {
  auto strategy = custom_resource_strategy();
  strategy.validate = validate;
  return strategy;
}

}  // namespace

const Strategy& pod_group_strategy() {
  static const Strategy strategy = custom_with(validate_pod_group);
  return strategy;
}

const Strategy& allotment_strategy() {
  static const Strategy strategy = custom_with(validate_allotment);
  return strategy;
}

const Strategy& configuration_strategy() {
  static const Strategy strategy = custom_with(validate_configuration);
  return strategy;
}

}  // namespace gangway::apiserver
