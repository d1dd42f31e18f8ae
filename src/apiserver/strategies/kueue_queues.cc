// ClusterQueue, LocalQueue, Cohort, ResourceFlavor, AdmissionCheck and Topology of Kueue: the rules that their schemas
// cannot say.
#include <fmt/format.h>

#include <set>

#include "api/convert/kueue.h"
#include "apiserver/strategies/kueue.h"
#include "apiserver/strategies/labels.h"
#include "apiserver/strategies/pod_spec.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

// ── ClusterQueue ──

void check_fungibility(const Field& fungibility) {
  const auto preference = fungibility["preference"];
  constexpr std::string_view kNext = "TryNextFlavor";
  if (preference && (fungibility["whenCanBorrow"].text() != kNext || fungibility["whenCanPreempt"].text() != kNext))
    preference.forbidden("has a meaning only when whenCanBorrow and whenCanPreempt are both TryNextFlavor");
}

void check_preemption(const Field& preemption) {
  const auto policy = preemption["borrowWithinCohort"]["policy"];
  if (preemption["reclaimWithinCohort"].text() == "Never" && !policy.empty() && policy.text() != "Never")
    policy.invalid("must be Never when reclaimWithinCohort is Never");
}

void check_migration(const Field& migration) {
  const auto last = migration["constraints"]["lastAcceptableFlavorName"];
  if (last && migration["mode"].text() != "TryPreferredFlavors")
    last.forbidden("has a meaning only when mode is TryPreferredFlavors");
}

void check_cluster_queue(const Field& queue, const Field&) {
  const auto spec = queue["spec"];
  check_resource_groups(spec["resourceGroups"], !spec["cohortName"].empty());
  check_selector(spec["namespaceSelector"]);
  check_fungibility(spec["flavorFungibility"]);
  check_preemption(spec["preemption"]);
  check_weight_of_share(spec);
  check_migration(spec["concurrentAdmissionPolicy"]["migration"]);
}

void validate_cluster_queue(Review& review) {
  if (review.subresource == "status") return;
  const auto spec = new_object(review)["spec"];
  if (!spec["admissionChecks"].empty() && spec["admissionChecksStrategy"])
    spec["admissionChecks"].forbidden("admissionChecksStrategy says it already");
  check_in_newer_version(review, check_cluster_queue, {{"spec.cohortName", "spec.cohort"}});
}

// ── the others ──

void check_local_queue(const Field& queue, const Field& before) {
  if (before) queue["spec"]["clusterQueue"].immutable(before["spec"]["clusterQueue"]);
  check_weight_of_share(queue["spec"]);
}

void check_cohort(const Field& cohort, const Field&) {
  const auto spec = cohort["spec"];
  check_resource_groups(spec["resourceGroups"], !spec["parentName"].empty());
  check_weight_of_share(spec);
}

void check_flavor(const Field& flavor, const Field& before) {
  const auto spec = flavor["spec"];
  check_labels(spec["nodeLabels"]);
  check_taints(spec["nodeTaints"]);
  check_tolerations(spec["tolerations"]);
  const auto topology = spec["topologyName"];
  if (!topology.empty() && spec["nodeLabels"].empty())
    spec["nodeLabels"].required("a flavor with a topology has at least one label");
  if (const auto named = before["spec"]["topologyName"]; !named.empty()) topology.immutable(named);
}

void check_admission_check(const Field& check, const Field& before) {
  if (before) check["spec"]["controllerName"].immutable(before["spec"]["controllerName"]);
}

bool ends_at_hosts(const Field& levels) {
  return !levels.empty() && levels.at(levels.size() - 1)["nodeLabel"].text() == kHostname;
}

void check_topology(const Field& topology, const Field& before) {
  const auto levels = topology["spec"]["levels"];
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto label = levels.at(i)["nodeLabel"];
    label.invalid_each(names::check_qualified_name(label.text()));
    if (!seen.insert(label.text()).second) label.duplicate();
    if (label.text() == kHostname && i + 1 < levels.size()) label.invalid("only the lowest level can be a host");
  }
  const auto old = before["spec"]["levels"];
  if (before && !levels.same_as(old) && !(ends_at_hosts(levels) && ends_at_hosts(old)))
    levels.forbidden(fmt::format("can be changed only while {} is the lowest level before and after", kHostname));
}

// What is reported of an object is its controller's business.
template <KueueRules kRules>
void validate_spec(Review& review) {
  if (review.subresource.empty()) check_in_newer_version(review, kRules);
}

Strategy strategy_with(void (*validate)(Review& review), const api::VersionPair* versions = nullptr) {
  auto made = custom_resource_strategy();
  made.validate = validate;
  made.versions = versions;
  return made;
}

}  // namespace

const Strategy& cluster_queue_strategy() {
  static const Strategy strategy = strategy_with(validate_cluster_queue, &api::cluster_queue_versions());
  return strategy;
}

const Strategy& local_queue_strategy() {
  static const Strategy strategy = strategy_with(validate_spec<check_local_queue>, &api::local_queue_versions());
  return strategy;
}

const Strategy& cohort_strategy() {
  static const Strategy strategy = strategy_with(validate_spec<check_cohort>);
  return strategy;
}

const Strategy& resource_flavor_strategy() {
  static const Strategy strategy = strategy_with(validate_spec<check_flavor>);
  return strategy;
}

const Strategy& admission_check_strategy() {
  static const Strategy strategy = strategy_with(validate_spec<check_admission_check>);
  return strategy;
}

const Strategy& topology_strategy() {
  static const Strategy strategy = strategy_with(validate_spec<check_topology>);
  return strategy;
}

}  // namespace gangway::apiserver
