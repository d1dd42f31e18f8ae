#include "apiserver/strategies/kueue.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "api/convert/kueue.h"
#include "apiserver/registry.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

bool is_older(const Review& review) {
  return review.kind.strategy->versions && json::string_at(review.object, {"apiVersion"}).ends_with(api::kKueueOlder);
}

json::Value in_newer(const Review& review, const json::Value& object) {
  auto converted = object;
  api::convert(converted, *review.kind.strategy->versions, api::kKueueNewer);
  return converted;
}

// "spec.cohortName" → "spec.cohort"
std::string as_requested(std::string field, std::initializer_list<RenamedField> renamed) {
  for (const auto& each : renamed) {
    if (auto at = field.find(each.newer); at != std::string::npos)
      return field.replace(at, each.newer.size(), each.older);
  }
  return field;
}

// ── quotas ──

constexpr std::size_t kMostInAll = 256;

void check_amount(const Field& amount) {
  if (!amount) return;
  const auto quantity = amount.quantity();
  if (!quantity) return amount.invalid("must be an amount, as 500m, 4Gi or 8");
  if (quantity->is_negative()) amount.invalid("must be greater than or equal to 0");
}

void check_limits(const Field& quota, bool is_in_cohort) {
  for (auto key : {"borrowingLimit", "lendingLimit"}) {
    check_amount(quota[key]);
    if (quota[key] && !is_in_cohort) quota[key].forbidden("nothing is borrowed or lent outside a cohort");
  }
  const auto nominal = quota["nominalQuota"].quantity();
  const auto lent = quota["lendingLimit"].quantity();
  if (nominal && lent && *lent > *nominal)
    quota["lendingLimit"].invalid(fmt::format("must not be more than nominalQuota ({})", nominal->to_string()));
}

void check_flavor(const Field& flavor, const Field& covered, bool is_in_cohort) {
  const auto quotas = flavor["resources"].items();
  if (quotas.size() != covered.size()) {
    flavor["resources"].invalid(json::Value(static_cast<std::int64_t>(quotas.size())),
                                fmt::format("must have as many resources as coveredResources ({})", covered.size()));
  }
  for (std::size_t i = 0; i < quotas.size(); ++i) {
    const auto name = covered.at(i);
    if (name && quotas[i]["name"].text() != name.text())
      quotas[i]["name"].invalid(fmt::format("must be {}: resources are in the order of coveredResources", name.text()));
    check_amount(quotas[i]["nominalQuota"]);
    check_limits(quotas[i], is_in_cohort);
  }
}

}  // namespace

void check_in_newer_version(Review& review, KueueRules rules, std::initializer_list<RenamedField> renamed) {
  if (!is_older(review)) return rules(new_object(review), old_object(review));
  const auto object = in_newer(review, review.object);
  const auto before = review.old ? std::optional(in_newer(review, *review.old)) : std::nullopt;
  Causes causes;
  rules(Field(&object, "", causes), Field(before ? &*before : nullptr, "", causes));
  for (auto& cause : causes) {
    cause.field = as_requested(std::move(cause.field), renamed);
    review.causes.push_back(std::move(cause));
  }
}

void check_resource_groups(const Field& groups, bool is_in_cohort) {
  std::set<std::string_view> resources, flavors;
  std::size_t resource_count = 0, flavor_count = 0;
  for (const auto& group : groups.items()) {
    const auto covered = group["coveredResources"];
    for (const auto& name : covered.items()) {
      name.invalid_each(names::check_qualified_name(name.text()));
      if (!resources.insert(name.text()).second) name.duplicate();
      ++resource_count;
    }
    for (const auto& flavor : group["flavors"].items()) {
      if (!flavors.insert(flavor["name"].text()).second) flavor["name"].duplicate();
      ++flavor_count;
      check_flavor(flavor, covered, is_in_cohort);
    }
  }
  const auto check_sum = [&](std::size_t count, std::string_view what) {
    if (count > kMostInAll)
      groups.invalid(json::Value(static_cast<std::int64_t>(count)),
                     fmt::format("must have no more than {} {} in all groups", kMostInAll, what));
  };
  check_sum(resource_count, "covered resources");
  check_sum(flavor_count, "flavors");
}

void check_weight_of_share(const Field& spec) {
  static const auto kSmallest = Quantity::parse("1n").value();
  const auto weight = spec["fairSharing"]["weight"];
  check_amount(weight);
  const auto quantity = weight.quantity();
  if (quantity && !quantity->is_negative() && !quantity->is_zero() && *quantity <= kSmallest)
    weight.invalid("must be 0 or more than 1e-9");
}

}  // namespace gangway::apiserver
