#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apiserver/strategies/gang_annotations.h"
#include "apiserver/strategies/pod_admission.h"
#include "apiserver/strategies/pod_label_keys.h"
#include "apiserver/strategies/pod_spec.h"
#include "apiserver/strategies/pod_update.h"
#include "apiserver/strategies/pod_warnings.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

void default_requests(json::Value& container) {
  const auto* limits = json::find(container, {"resources", "limits"});
  if (!limits || !limits->is_object()) return;
  auto copy = limits->get_object();
  auto& requests = json::object_at(container, {"resources", "requests"});
  for (const auto& [name, amount] : copy) {
    if (!requests.contains(name)) requests[name] = amount;
  }
}

// On the host's network a container's port is the host's.
void default_host_ports(json::Value& container) {
  auto* ports = json::find(container, {"ports"});
  if (!ports || !ports->is_array()) return;
  for (auto& port : ports->get_array()) {
    if (!port.is_object()) continue;
    const auto* host = json::find(port, {"hostPort"});
    const auto* own = json::find(port, {"containerPort"});
    if (own && (!host || (host->is_int64() && host->get_int64() == 0))) {
      auto number = *own;
      port.get_object()["hostPort"] = std::move(number);
    }
  }
}

void add_defaults(json::Value& pod) {
  auto* spec = json::find(pod, {"spec"});
  if (!spec || !spec->is_object()) return;
  add_pod_spec_defaults(*spec);
  if (!spec->get_object().contains("enableServiceLinks")) spec->get_object()["enableServiceLinks"] = true;
  const auto* host_network = json::find(*spec, {"hostNetwork"});
  bool on_host = host_network && host_network->is_bool() && host_network->get_bool();
  for (auto key : {"containers", "initContainers"}) {
    auto* containers = json::find(*spec, {key});
    if (!containers || !containers->is_array()) continue;
    for (auto& container : containers->get_array()) {
      if (!container.is_object()) continue;
      default_requests(container);
      if (on_host) default_host_ports(container);
    }
  }
}

using Amounts = std::map<std::string_view, Quantity>;

// Adds cpu and memory of `list` that are not zero; returns how many there were.
int add_compute(const Field& list, Amounts& total) {
  int found = 0;
  for (auto name : {"cpu", "memory"}) {
    auto amount = list[name].quantity();
    if (!amount || amount->is_zero()) continue;
    total[name] += *amount;
    ++found;
  }
  return found;
}

std::string_view quality_of_service(const Field& spec) {
  Amounts requests;
  Amounts limits;
  bool guaranteed = true;
  for (auto key : {"containers", "initContainers"}) {
    for (const auto& container : spec[key].items()) {
      add_compute(container["resources"]["requests"], requests);
      if (add_compute(container["resources"]["limits"], limits) != 2) guaranteed = false;
    }
  }
  if (requests.empty() && limits.empty()) return "BestEffort";
  return guaranteed && requests == limits ? "Guaranteed" : "Burstable";
}

void prepare_create(Review& review) {
  apply_label_keys(review.object);
  auto pod = new_object(review);
  json::Object status{{"phase", "Pending"}, {"qosClass", quality_of_service(pod["spec"])}};
  if (!pod["spec"]["schedulingGates"].empty()) {
    status["conditions"] =
        json::Array{json::Object{{"type", "PodScheduled"},
                                 {"status", "False"},
                                 {"lastProbeTime", nullptr},
                                 {"lastTransitionTime", to_rfc3339(review.facts.now)},
                                 {"reason", "SchedulingGated"},
                                 {"message", "Scheduling is blocked due to non-empty scheduling gates"}}};
  }
  review.object.as_object()["status"] = std::move(status);
}

void prepare(Review& review) {
  if (auto* spec = json::find(review.object, {"spec"})) drop_disabled_fields(*spec);
  if (review.operation == Operation::kCreate) return prepare_create(review);
  if (review.subresource != "status") return;
  if (json::string_at(review.object, {"status", "qosClass"}).empty()) keep_old(review, {"status", "qosClass"});
}

void check_create(Review& review, const Field& pod) {
  auto spec = pod["spec"];
  if (!spec["ephemeralContainers"].empty()) spec["ephemeralContainers"].forbidden("cannot be set on create");
  if (!spec["nodeName"].empty() && !spec["schedulingGates"].empty()) {
    spec["nodeName"].forbidden("cannot be set until all schedulingGates have been cleared");
  }
  auto messages = names::check_dns1123_label(pod["metadata"]["name"].text());
  if (!messages.empty()) {
    review.warnings.push_back(fmt::format(
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label "
        "is recommended: [{}]",
        fmt::join(messages, " ")));
  }
  auto warnings = pod_spec_warnings(spec);
  review.warnings.insert(review.warnings.end(), warnings.begin(), warnings.end());
}

void validate(Review& review) {
  auto pod = new_object(review);
  if (review.subresource == "status") return check_pod_status_update(pod, old_object(review));
  if (!review.subresource.empty() && review.subresource != "ephemeralcontainers") return;
  check_pod_annotations(pod, old_object(review));
  check_pod_spec(pod["spec"], PodSpecOf::kPod);
  if (!review.old) return check_create(review, pod);
  if (review.subresource.empty()) check_pod_update(pod, old_object(review));
}

std::int64_t grace_seconds(const json::Value& pod, std::optional<std::int64_t> asked) {
  auto phase = json::string_at(pod, {"status", "phase"});
  if (json::string_at(pod, {"spec", "nodeName"}).empty() || phase == "Failed" || phase == "Succeeded") return 0;
  const auto* own = json::find(pod, {"spec", "terminationGracePeriodSeconds"});
  auto seconds = asked.value_or(own && own->is_int64() ? own->get_int64() : 0);
  return seconds < 0 ? 1 : seconds;
}

}  // namespace

const Strategy& pod_strategy() {
  static const Strategy strategy{.add_defaults = add_defaults,
                                 .admit = admit_pod,
                                 .prepare = prepare,
                                 .validate = validate,
                                 .generation = GenerationRule::kSpec,
                                 .status_keeps = KeptMetadata::kOwners,
                                 .grace_seconds = grace_seconds,
                                 .returns_deleted = true};
  return strategy;
}

}  // namespace gangway::apiserver
