#include "jobs/pod_groups.h"

#include <algorithm>
#include <span>
#include <utility>

#include "api/gang.h"
#include "api/owner.h"
#include "client/resource.h"

namespace gangway::jobs {
namespace {

using client::Create;
using client::Delete;
using client::Emit;
using client::EventType;
using client::Patch;
using client::resources::kPodGroups;

constexpr std::string_view kCopied[] = {api::kOnPreempt, api::kMinRuntime, api::kMaxPreemptions, api::kLastCheckpoint,
                                        api::kExpectedDuration};

std::string_view annotation(const json::Value& object, std::string_view key) {
  return json::string_at(object, {"metadata", "annotations", key});
}

// What of a container, or of a pod, decides where it can be.
json::Value only(const json::Value& given, std::initializer_list<std::string_view> keys) {
  json::Object kept;
  for (const std::string_view key : keys)
    if (const json::Value* value = json::find(given, {key})) kept[key] = *value;
  return kept;
}

json::Value placement_of(const json::Value& pod_template) {
  const json::Value* given = json::find(pod_template, {"spec"});
  json::Value spec = given == nullptr ? json::Value(json::Object())
                                      : only(*given, {"nodeName", "nodeSelector", "affinity", "tolerations",
                                                      "topologySpreadConstraints", "overhead", "resources"});
  for (const std::string_view list : {"containers", "initContainers"}) {
    json::Array containers;
    for (const json::Value& container : json::array_at(pod_template, {"spec", list}))
      containers.push_back(only(container, {"name", "resources", "ports", "restartPolicy"}));
    if (!containers.empty()) spec.as_object()[list] = std::move(containers);
  }
  return json::Object{{"metadata", json::Object{{"labels", json::map_at(pod_template, {"metadata", "labels"})}}},
                      {"spec", std::move(spec)}};
}

std::string late_members_of(const GangWish& wish) {
  json::Array list;
  for (const LateMember& late : wish.late)
    list.push_back(
        json::Object{{"name", late.name}, {"count", late.count}, {"template", placement_of(late.pod_template)}});
  return json::serialize(json::Value(std::move(list)));
}

json::Object annotations_of(const json::Value& job, const GangWish& wish) {
  json::Object annotations = gang_annotations(job, wish.is_elastic());
  if (wish.is_elastic()) annotations[api::kMaxMembers] = std::to_string(wish.maximum);
  if (!wish.late.empty()) annotations[api::kLateMembers] = late_members_of(wish);
  return annotations;
}

json::Object spec_of(const GangWish& wish) {
  json::Object spec{{"minMember", wish.minimum}};
  if (!wish.min_resources.is_null()) spec["minResources"] = wish.min_resources;
  if (wish.schedule_timeout_seconds) spec["scheduleTimeoutSeconds"] = *wish.schedule_timeout_seconds;
  return spec;
}

client::Action create_group(const controllers::Owner& owner, const json::Value& job, const GangWish& wish) {
  const api::Header& self = *owner.object.header;
  json::Object metadata{{"name", self.name.name},
                        {"namespace", self.name.ns},
                        {"annotations", annotations_of(job, wish)},
                        {"ownerReferences", json::Array{api::to_json(owner.reference())}}};
  json::Value body = json::Object{{"apiVersion", client::api_version(kPodGroups)},
                                  {"kind", "PodGroup"},
                                  {"metadata", std::move(metadata)},
                                  {"spec", spec_of(wish)}};
  Create action{kPodGroups, self.name.ns, std::move(body), self.uid};
  action.announce.failed = Emit{owner.subject(), EventType::kWarning, "FailedCreatePodGroup", "Error creating: "};
  return action;
}

// Adds to `patch` what of `wanted` is not so at `path` of the group, and nulls for what is there of `ours` and not
// wanted.
void add_differences(const json::Value& group, const json::Object& wanted, std::initializer_list<std::string_view> path,
                     std::span<const std::string_view> ours, json::Value& patch) {
  const json::Object& present = json::map_at(group, path);
  for (const std::string_view key : ours) {
    const json::Value* now = present.if_contains(key);
    const json::Value* then = wanted.if_contains(key);
    if (then == nullptr ? now == nullptr : now != nullptr && json::equal(*now, *then)) continue;
    json::object_at(patch, path)[key] = then == nullptr ? json::Value(nullptr) : *then;
  }
}

}  // namespace

OnPreempt on_preempt_of(const json::Value& job) {
  const std::string_view text = annotation(job, api::kOnPreempt);
  if (text == "Requeue") return OnPreempt::kRequeue;
  return text == "Shrink" ? OnPreempt::kShrink : OnPreempt::kFail;
}

json::Object gang_annotations(const json::Value& job, bool is_elastic) {
  json::Object annotations;
  for (const std::string_view key : kCopied) {
    const std::string_view text = annotation(job, key);
    if (text.empty() || (key == api::kOnPreempt && text == "Shrink" && !is_elastic)) continue;
    annotations[key] = text;
  }
  return annotations;
}

std::optional<client::Action> keep_pod_group(const client::View& view, const controllers::Owner& owner,
                                             const json::Value& job, const GangWish& wish) {
  const api::Header& self = *owner.object.header;
  const api::Version present = view.get(kPodGroups, self.name);
  if (!present) return create_group(owner, job, wish);
  if (!api::is_owned_by(*present.header, self.uid) || present.header->deleting_since) return std::nullopt;
  const auto group = json::parse(*present.json);
  if (!group) return std::nullopt;
  std::vector<std::string_view> annotations(std::begin(kCopied), std::end(kCopied));
  annotations.insert(annotations.end(), {api::kMaxMembers, api::kLateMembers});
  static constexpr std::string_view kSpec[] = {"minMember", "minResources", "scheduleTimeoutSeconds"};
  json::Value patch = json::Object();
  add_differences(*group, annotations_of(job, wish), {"metadata", "annotations"}, annotations, patch);
  add_differences(*group, spec_of(wish), {"spec"}, kSpec, patch);
  if (patch.get_object().empty()) return std::nullopt;
  return Patch{client::target_of(kPodGroups, present), std::move(patch)};
}

std::vector<client::Action> drop_pod_group(const client::View& view, const controllers::Owner& owner) {
  const api::Header& self = *owner.object.header;
  const api::Version present = view.get(kPodGroups, self.name);
  if (!present || !api::is_owned_by(*present.header, self.uid) || present.header->deleting_since) return {};
  Delete action{client::target_by_uid(kPodGroups, present)};
  action.announce.done =
      Emit{owner.subject(), EventType::kNormal, "SuccessfulDeletePodGroup", "Deleted PodGroup: " + self.name.name};
  action.announce.failed = Emit{owner.subject(), EventType::kWarning, "FailedDeletePodGroup", "Error deleting: "};
  return {Emit{owner.subject(), EventType::kNormal, "JobTerminated", "Job has been terminated. Deleting PodGroup"},
          std::move(action)};
}

}  // namespace gangway::jobs
