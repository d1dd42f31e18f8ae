#include "controllers/stateful_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/owner.h"
#include "client/resource.h"
#include "controllers/int_or_percent.h"
#include "controllers/pods.h"

namespace gangway::controllers {
namespace {

using client::resources::kPersistentVolumeClaims;
using client::resources::kPods;

std::string claim_name(const json::Value& claim_template, const std::string& pod) {
  return std::string(json::string_at(claim_template, {"metadata", "name"})) + "-" + pod;
}

// The claims' volumes come first; a volume of the template that has the name of one gives way.
void add_volumes(json::Value& pod, const json::Value& set, const std::string& name) {
  const json::Array& templates = json::array_at(set, {"spec", "volumeClaimTemplates"});
  if (templates.empty()) return;
  json::Array volumes;
  for (const json::Value& claim : templates) {
    volumes.push_back(json::Object{{"name", json::string_at(claim, {"metadata", "name"})},
                                   {"persistentVolumeClaim", json::Object{{"claimName", claim_name(claim, name)}}}});
  }
  const std::size_t claimed = volumes.size();
  for (const json::Value& volume : json::array_at(pod, {"spec", "volumes"})) {
    const std::string_view its_name = json::string_at(volume, {"name"});
    const bool gives_way =
        std::any_of(volumes.begin(), volumes.begin() + static_cast<std::ptrdiff_t>(claimed),
                    [&](const json::Value& one) { return json::string_at(one, {"name"}) == its_name; });
    if (!gives_way) volumes.push_back(volume);
  }
  json::object_at(pod, {"spec"})["volumes"] = std::move(volumes);
}

client::Action create_claim(const Owner& owner, const json::Value& set, const json::Value& claim_template,
                            const std::string& name, const std::string& pod) {
  json::Object claim{{"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}};
  json::Object metadata{{"name", name}, {"namespace", owner.object.header->name.ns}};
  json::Object labels = json::map_at(claim_template, {"metadata", "labels"});
  for (const auto& label : json::map_at(set, {"spec", "selector", "matchLabels"})) labels[label.key()] = label.value();
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  const json::Object& annotations = json::map_at(claim_template, {"metadata", "annotations"});
  if (!annotations.empty()) metadata["annotations"] = annotations;
  claim["metadata"] = std::move(metadata);
  if (const json::Value* spec = json::find(claim_template, {"spec"})) claim["spec"] = *spec;
  // The name means the same whoever made the claim: it outlives sets.
  client::Create action{kPersistentVolumeClaims, owner.object.header->name.ns, std::move(claim)};
  const std::string& self = owner.object.header->name.name;
  action.announce.done = client::Emit{owner.subject(), client::EventType::kNormal, "SuccessfulCreate",
                                      fmt::format("create Claim {} Pod {} in StatefulSet {} success", name, pod, self)};
  action.announce.failed =
      client::Emit{owner.subject(), client::EventType::kWarning, "FailedCreate",
                   fmt::format("create Claim {} for Pod {} in StatefulSet {} failed error: ", name, pod, self)};
  return action;
}

bool is_pod_reference(const api::OwnerReference& owner) {
  return owner.kind == "Pod" && owner.api_version == "v1";
}

bool is_set_reference(const api::OwnerReference& owner) {
  return owner.kind == "StatefulSet" && client::group_of(owner.api_version) == "apps";
}

// It belongs to a pod of that name that is gone, and goes with it.
bool is_of_another_life(const api::Version& claim, const std::string& pod_name, const api::Version& pod) {
  return std::any_of(claim.header->owners.begin(), claim.header->owners.end(), [&](const auto& owner) {
    return is_pod_reference(owner) && owner.name == pod_name && (!pod || owner.uid != pod.header->uid);
  });
}

// Who should own a claim so that it goes with its set, or with its pod once the set no longer wants that pod.
std::optional<api::OwnerReference> wanted_owner(const Owner& owner, const json::Value& set, const api::Version& pod,
                                                bool is_kept) {
  const auto deletes = [&](const char* when) {
    return json::string_at(set, {"spec", "persistentVolumeClaimRetentionPolicy", when}) == "Delete";
  };
  if (deletes("whenScaled") && !is_kept) return api::controller_reference("v1", "Pod", *pod.header);
  if (deletes("whenDeleted")) return owner.reference();
  return std::nullopt;
}

// The patch that makes the references of the claim right; none when they are, or when somebody else manages it.
std::optional<client::Action> own_claim(const Owner& owner, const json::Value& set, const api::Version& claim,
                                        const api::Version& pod, bool is_kept) {
  const auto wanted = wanted_owner(owner, set, pod, is_kept);
  bool has_wanted = !wanted;
  bool has_other = false;
  for (const api::OwnerReference& known : claim.header->owners) {
    const bool is_ours = (is_set_reference(known) && known.uid == owner.object.header->uid) ||
                         (is_pod_reference(known) && known.uid == pod.header->uid);
    if (!is_ours && known.controller) return std::nullopt;
    if (wanted && known.uid == wanted->uid) has_wanted = has_wanted || known.controller;
    if (is_ours && (!wanted || known.uid != wanted->uid)) has_other = true;
  }
  if (has_wanted && !has_other) return std::nullopt;
  auto tree = json::parse(*claim.json);
  if (!tree) return std::nullopt;
  api::remove_owners(*tree, {owner.object.header->uid, pod.header->uid});
  if (wanted) api::set_owner(*tree, *wanted);
  return write_owners(kPersistentVolumeClaims, claim, *tree);
}

}  // namespace

std::string pod_name(std::string_view set, std::int64_t ordinal) {
  return fmt::format("{}-{}", set, ordinal);
}

std::optional<std::int64_t> ordinal_of(std::string_view set, std::string_view pod) {
  if (pod.size() <= set.size() + 1 || !pod.starts_with(set) || pod[set.size()] != '-') return std::nullopt;
  const auto ordinal = parse_number(pod.substr(set.size() + 1));
  // "web-01" and "web--1" are not names of the set.
  if (!ordinal || pod_name(set, *ordinal) != pod || *ordinal < 0) return std::nullopt;
  return ordinal;
}

json::Value stateful_pod(const Owner& owner, const json::Value& set, const json::Value& pod_template,
                         const std::string& revision, std::int64_t ordinal) {
  const api::ObjectName& self = owner.object.header->name;
  const std::string name = pod_name(self.name, ordinal);
  json::Value pod = pod_from_template(pod_template, {self.ns, name}, owner.reference());
  json::Object& labels = json::object_at(pod, {"metadata", "labels"});
  labels[kPodNameLabel] = name;
  labels[kPodIndexLabel] = std::to_string(ordinal);
  labels[kRevisionLabel] = revision;
  json::Object& spec = json::object_at(pod, {"spec"});
  spec["hostname"] = name;
  const std::string_view service = json::string_at(set, {"spec", "serviceName"});
  if (!service.empty()) spec["subdomain"] = service;
  add_volumes(pod, set, name);
  return pod;
}

std::optional<client::Action> restore_identity(const Owner& owner, const api::Version& pod, std::int64_t ordinal) {
  const std::string name = pod_name(owner.object.header->name.name, ordinal);
  const std::string index = std::to_string(ordinal);
  if (pod.header->label(kPodNameLabel) == name && pod.header->label(kPodIndexLabel) == index) return std::nullopt;
  json::Value patch = json::Object();
  json::object_at(patch, {"metadata", "labels"})[kPodNameLabel] = name;
  json::object_at(patch, {"metadata", "labels"})[kPodIndexLabel] = index;
  client::Patch action{client::target_by_uid(kPods, pod), std::move(patch)};
  const std::string& self = owner.object.header->name.name;
  action.announce.done = client::Emit{owner.subject(), client::EventType::kNormal, "SuccessfulUpdate",
                                      fmt::format("update Pod {} in StatefulSet {} successful", name, self)};
  return action;
}

ClaimState claims_of(const client::View& view, const Owner& owner, const json::Value& set, std::int64_t ordinal,
                     const api::Version& pod, bool is_kept) {
  ClaimState state;
  const api::ObjectName& self = owner.object.header->name;
  const std::string name = pod_name(self.name, ordinal);
  for (const json::Value& claim_template : json::array_at(set, {"spec", "volumeClaimTemplates"})) {
    const std::string wanted = claim_name(claim_template, name);
    const api::Version claim = view.get(kPersistentVolumeClaims, {self.ns, wanted});
    if (!claim) {
      state.create.push_back(create_claim(owner, set, claim_template, wanted, name));
    } else if (is_terminating(claim) || is_of_another_life(claim, name, pod)) {
      state.is_blocked = true;
    } else if (pod) {
      if (auto patch = own_claim(owner, set, claim, pod, is_kept)) state.own.push_back(std::move(*patch));
    }
  }
  return state;
}

bool may_be_claim_of(std::string_view set, std::string_view claim) {
  const auto dash = claim.rfind('-');
  if (dash == std::string_view::npos || !parse_number(claim.substr(dash + 1))) return false;
  const std::string_view rest = claim.substr(0, dash);
  return rest.size() > set.size() + 1 && rest.ends_with(set) && rest[rest.size() - set.size() - 1] == '-';
}

}  // namespace gangway::controllers
