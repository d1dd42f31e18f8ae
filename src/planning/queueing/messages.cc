#include "planning/queueing/messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity.h"

namespace gangway::planning::queueing {
namespace {

std::string quantity(const Snapshot& snapshot, ResourceId resource, std::int64_t amount) {
  if (resource == kCpu) return Quantity::of_milli(amount).canonical();
  const bool is_bytes = resource == kMemory || resource == kEphemeralStorage ||
                        snapshot.resources.name_of(resource).starts_with("hugepages-");
  return Quantity::of(amount, is_bytes ? Quantity::Format::kBinarySi : Quantity::Format::kDecimalSi).canonical();
}

// "key=value:NoSchedule"
std::string text_of(const Taint& taint) {
  static constexpr const char* kEffects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
  const char* const effect = kEffects[static_cast<int>(taint.effect)];
  return taint.value.empty() ? fmt::format("{}:{}", taint.key, effect)
                             : fmt::format("{}={}:{}", taint.key, taint.value, effect);
}

std::string text_of(const Snapshot& snapshot, const Shortfall& one) {
  const auto amount = [&](std::int64_t number) { return quantity(snapshot, one.resource, number); };
  const auto resource = [&] { return snapshot.resources.name_of(one.resource); };
  const auto flavor = [&]() -> const Flavor& { return snapshot.flavors[one.flavor]; };
  switch (one.kind) {
    case Shortfall::Kind::kUnused:
      return fmt::format("insufficient unused quota for {} in flavor {}, {} more needed", resource(), flavor().name,
                         amount(one.amount));
    case Shortfall::Kind::kCapacity:
      return fmt::format(
          "insufficient quota for {} in flavor {}, previously considered podsets requests ({}) + current podset "
          "request "
          "({}) > maximum capacity ({})",
          resource(), flavor().name, amount(one.before), amount(one.amount), amount(one.capacity));
    case Shortfall::Kind::kTaint:
      return fmt::format("untolerated taint {} in flavor {}",
                         text_of(flavor().taints[static_cast<std::size_t>(one.amount)]), flavor().name);
    case Shortfall::Kind::kAffinity:
      return fmt::format("flavor {} doesn't match node affinity", flavor().name);
    case Shortfall::Kind::kNoFlavor:
      return fmt::format("flavor {} not found", flavor().name);
    case Shortfall::Kind::kNotCovered:
      return fmt::format("resource {} unavailable in ClusterQueue", resource());
  }
  return {};
}

std::string shortfalls_of(const Snapshot& snapshot, const Decision& decision) {
  const Workload& workload = snapshot.workloads[decision.workload];
  std::string all;
  for (std::uint32_t podset = 0; podset < workload.podsets.size(); ++podset) {
    std::vector<std::string> reasons;
    for (const Shortfall& one : decision.shortfalls)
      if (one.podset == podset) reasons.push_back(text_of(snapshot, one));
    if (reasons.empty()) continue;
    std::sort(reasons.begin(), reasons.end());
    if (!all.empty()) all += "; ";
    all += fmt::format("couldn't assign flavors to pod set {}: {}", workload.podsets[podset].name,
                       fmt::join(reasons, ", "));
  }
  return all;
}

// "/root/…/queue"
std::string path_of(const Snapshot& snapshot, QueueId queue) {
  std::string path = "/" + snapshot.queues[queue].name;
  CohortId cohort = snapshot.queues[queue].cohort;
  for (std::size_t steps = 0; cohort != kNone && steps < snapshot.cohorts.size(); ++steps) {
    path.insert(0, "/" + snapshot.cohorts[cohort].name);
    cohort = snapshot.cohorts[cohort].parent;
  }
  return path;
}

}  // namespace

const char* reason_text(PendingReason reason) {
  switch (reason) {
    case PendingReason::kNone:
      break;
    case PendingReason::kNoMatchingFlavor:
      return "NoMatchingFlavor";
    case PendingReason::kExceedsMaxQuota:
      return "ExceedsMaxQuota";
    case PendingReason::kWaitingForQuota:
      return "WaitingForQuota";
    case PendingReason::kWaitingForPreemptedWorkloads:
      return "WaitingForPreemptedWorkloads";
    case PendingReason::kMisconfigured:
      return "Misconfigured";
  }
  return "QuotaReserved";
}

std::string message_of(const Snapshot& snapshot, const Decision& decision) {
  const Workload& workload = snapshot.workloads[decision.workload];
  if (decision.outcome == Decision::Outcome::kAdmit)
    return "Quota reserved in ClusterQueue " + snapshot.queues[workload.queue].name;
  static constexpr const char* kOverlap = "Workload has overlapping preemption targets with another workload";
  switch (decision.remark) {
    case Remark::kNone:
      break;
    case Remark::kNoLongerFits:
      return "Workload no longer fits after processing another workload";
    case Remark::kOverlappingVictims:
      return kOverlap;
    case Remark::kFitsAfterOthers:
      return fmt::format("{}, but will fit after these preemptions complete", kOverlap);
    case Remark::kFailedChecks:
      return "The workload has failed admission checks";
    case Remark::kNamespaceNotSelected:
      return "workload namespace doesn't match ClusterQueue selector";
  }
  std::string message = shortfalls_of(snapshot, decision);
  if (decision.outcome == Decision::Outcome::kPreempt)
    message += fmt::format(". Pending the preemption of {} workload(s)", decision.victims.size());
  return message;
}

const char* reason_text(Victim::Reason reason) {
  switch (reason) {
    case Victim::Reason::kInClusterQueue:
      return "InClusterQueue";
    case Victim::Reason::kInCohortReclamation:
      return "InCohortReclamation";
    case Victim::Reason::kInCohortReclaimWhileBorrowing:
      return "InCohortReclaimWhileBorrowing";
    case Victim::Reason::kInCohortFairSharing:
      return "InCohortFairSharing";
  }
  return "";
}

std::string preemption_message(const Snapshot& snapshot, const Workload& preemptor, const Victim& victim) {
  static constexpr const char* kTexts[] = {"prioritization in the ClusterQueue", "reclamation within the cohort",
                                           "reclamation within the cohort while borrowing",
                                           "Fair Sharing within the cohort"};
  const auto known = [](const std::string& id) { return id.empty() ? "UNKNOWN" : id; };
  const Workload& other = snapshot.workloads[victim.workload];
  const QueueId others_queue = other.admission ? other.admission->queue : other.queue;
  return fmt::format(
      "Preempted to accommodate a workload (UID: {}, JobUID: {}) due to {}; preemptor path: {}; preemptee path: {}",
      known(preemptor.uid), known(preemptor.job_uid), kTexts[static_cast<int>(victim.reason)],
      path_of(snapshot, preemptor.queue), path_of(snapshot, others_queue));
}

}  // namespace gangway::planning::queueing
