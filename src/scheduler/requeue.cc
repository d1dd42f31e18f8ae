#include "scheduler/requeue.h"

#include <algorithm>
#include <charconv>

#include "api/gang.h"
#include "client/action.h"
#include "json/access.h"

namespace gangway::scheduler {
namespace {

constexpr const char* kIndexLabels[] = {"batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index",
                                        "training.kubeflow.org/replica-index"};

// Which attempt this pod is, as it says itself; a number that makes no sense counts as the first.
std::int64_t attempt_of(const json::Value& pod) {
  const std::string_view text = json::string_at(pod, {"metadata", "annotations", api::kAttempt});
  std::int32_t attempt = 1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), attempt);
  const bool is_number = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_number && attempt >= 1 && attempt < 1'000'000 ? attempt : 1;
}

void copy(const json::Value& from, json::Object& to, const char* key) {
  if (const json::Value* value = json::find(from, {"metadata", key})) to[key] = *value;
}

// What a user would have to apply to get the same pod once more. What admission derives from the priority class is left
// to it; what was decided by placing the pod is gone.
json::Object template_of(const json::Value& pod, std::int64_t attempt) {
  json::Object metadata;
  for (const char* key : {"name", "namespace", "labels", "annotations", "ownerReferences", "finalizers"})
    copy(pod, metadata, key);
  json::Value result = json::Object{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}};
  json::object_at(result, {"metadata", "annotations"})[api::kAttempt] = std::to_string(attempt);
  json::Value spec = json::Object();
  if (const json::Value* given = json::find(pod, {"spec"})) spec = *given;
  for (const char* key : {"nodeName", "priority", "preemptionPolicy", "ephemeralContainers"})
    spec.as_object().erase(key);
  result.as_object()["spec"] = std::move(spec);
  return std::move(result.as_object());
}

}  // namespace

RequeueFacts read_requeue(const api::Version& record) {
  RequeueFacts facts;
  const auto tree = json::parse(*record.json);
  if (!tree) return facts;
  facts.pod = json::string_at(*tree, {"spec", "pod"});
  facts.uid = json::string_at(*tree, {"spec", "uid"});
  facts.group = json::string_at(*tree, {"spec", "group"});
  facts.owner_uid = json::string_at(*tree, {"spec", "owner", "uid"});
  facts.index = json::string_at(*tree, {"spec", "index"});
  facts.since = parse_rfc3339(json::string_at(*tree, {"spec", "since"})).value_or(record.header->created);
  facts.attempt = json::integer_at(*tree, {"spec", "attempt"}, 2);
  if (const json::Value* pod = json::find(*tree, {"spec", "template"})) facts.pod_to_make = *pod;
  facts.successor = {record.header->name.ns, std::string(json::string_at(*tree, {"status", "pod"}))};
  facts.successor_uid = json::string_at(*tree, {"status", "uid"});
  return facts;
}

std::string requeue_name(const std::string& pod, const std::string& uid) {
  return client::generated_name(pod, uid, "requeue", 0, 0, 253);
}

const api::OwnerReference* controller_of(const api::Header& pod) {
  const auto found =
      std::find_if(pod.owners.begin(), pod.owners.end(), [](const auto& each) { return each.controller; });
  return found == pod.owners.end() ? nullptr : &*found;
}

std::string_view index_of(const api::Header& pod) {
  for (const char* label : kIndexLabels) {
    if (const auto index = pod.label(label); !index.empty()) return index;
  }
  return {};
}

bool must_be_remembered(const api::Header& pod, bool has_pod_group) {
  return controller_of(pod) == nullptr || !has_pod_group;
}

json::Value requeue_of(const api::Version& pod, const planning::Gang& gang, const std::string& by,
                       const std::string& grant) {
  const auto parsed = json::parse(*pod.json);
  const json::Value tree = parsed ? *parsed : json::Value(json::Object());
  const std::int64_t attempt = attempt_of(tree) + 1;
  json::Object spec{{"pod", pod.header->name.name},
                    {"uid", pod.header->uid},
                    {"since", to_rfc3339(gang.since)},
                    {"attempt", attempt},
                    {"by", by},
                    {"grant", grant}};
  if (!gang.is_plain) spec["group"] = gang.name;
  if (const auto* owner = controller_of(*pod.header)) {
    spec["owner"] = json::Object{{"kind", owner->kind}, {"name", owner->name}, {"uid", owner->uid}};
    if (const auto index = index_of(*pod.header); !index.empty()) spec["index"] = index;
  } else {
    spec["template"] = template_of(tree, attempt);
  }
  return json::Object{{"apiVersion", "gangway.dev/v1alpha1"},
                      {"kind", "RequeuedPod"},
                      {"metadata", json::Object{{"namespace", pod.header->name.ns},
                                                {"name", requeue_name(pod.header->name.name, pod.header->uid)}}},
                      {"spec", std::move(spec)}};
}

}  // namespace gangway::scheduler
