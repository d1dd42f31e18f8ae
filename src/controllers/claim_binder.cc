#include "controllers/claim_binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "client/resource.h"
#include "controllers/pods.h"
#include "controllers/volume_phase.h"
#include "volumes/claim_facts.h"
#include "volumes/claim_indexes.h"

namespace gangway::controllers {
namespace {

using namespace volumes;

using client::Create;
using client::Emit;
using client::EventType;
using client::ObjectChange;
using client::Outcome;
using client::Update;
using client::View;
using client::WorkQueue;
using client::resources::kNodes;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPersistentVolumes;
using client::resources::kPods;
using client::resources::kStorageClasses;

constexpr const char* kHostname = "kubernetes.io/hostname";

json::Object reference_to(const api::Version& claim) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"namespace", claim.header->name.ns},
          {"name", claim.header->name.name},
          {"uid", claim.header->uid},
          {"resourceVersion", std::to_string(claim.header->revision)}};
}

std::shared_ptr<const VolumeFacts> facts_of(const View& view, const api::Version& volume) {
  return view.objects(kPersistentVolumes).facts(volume, read_volume);
}

// Of the pods that use the claim and have not ended, the oldest that is on a node; or the oldest.
api::Version first_consumer(const View& view, const api::ObjectName& claim) {
  api::Version first;
  const auto is_before = [](const api::Header& a, const api::Header& b) {
    const bool on_a = !a.field("spec.nodeName").empty();
    const bool on_b = !b.field("spec.nodeName").empty();
    if (on_a != on_b) return on_a;
    return a.created != b.created ? a.created < b.created : a.name < b.name;
  };
  for (const api::Version& pod : pods_using(view, claim))
    if (!first || is_before(*pod.header, *first.header)) first = pod;
  return first;
}

}  // namespace

class ClaimBinder::ClaimLook {
 public:
  ClaimLook(const ClaimBinder& binder, const api::Version& claim, const View& view)
      : binder_(binder),
        claim_(claim),
        facts_(view.objects(kPersistentVolumeClaims).facts(claim, read_claim)),
        view_(view) {}

  Outcome run() {
    if (facts_->is_bound) {
      keep_bound();
    } else if (!facts_->volume.empty()) {
      bind_to_named();
    } else {
      find_volume();
    }
    return std::move(outcome_);
  }

 private:
  void keep_bound() {
    if (facts_->volume.empty())
      return lose("ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!");
    const api::Version volume = view_.get(kPersistentVolumes, {"", facts_->volume});
    if (!volume) return lose("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
    const auto volume_facts = facts_of(view_, volume);
    if (!volume_facts->has_claim) return reserve(volume);
    if (!volume_facts->is_reserved_for(*claim_.header))
      return lose("ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly");
    if (volume_facts->claim_uid.empty()) return reserve(volume);
    write_bound(volume);
  }

  // The claim itself says which volume it wants.
  void bind_to_named() {
    const api::Version volume = view_.get(kPersistentVolumes, {"", facts_->volume});
    if (!volume || volume.header->deleting_since) return;
    const auto volume_facts = facts_of(view_, volume);
    if (volume_facts->has_claim && !volume_facts->is_reserved_for(*claim_.header))
      return tell(EventType::kWarning, "FailedBinding",
                  fmt::format("volume \"{}\" already bound to a different claim.", facts_->volume));
    if (volume_facts->claim_uid == claim_.header->uid) return complete(volume);
    if (const std::string why = why_not_suited(*facts_, *volume_facts); !why.empty())
      return tell(EventType::kWarning, "VolumeMismatch",
                  fmt::format("Cannot bind to requested volume \"{}\": {}", facts_->volume, why));
    reserve(volume);
  }

  void find_volume() {
    if (const api::Version reserved = reserved_volume()) {
      return facts_of(view_, reserved)->claim_uid.empty() ? reserve(reserved) : complete(reserved);
    }
    const api::Version storage_class = view_.get(kStorageClasses, {"", facts_->storage_class});
    const ClassFacts of_class =
        storage_class ? *view_.objects(kStorageClasses).facts(storage_class, read_class) : ClassFacts();
    api::Version node;
    if (of_class.waits_for_consumer) {
      const api::Version consumer = first_consumer(view_, claim_.header->name);
      if (!consumer)
        return tell(EventType::kNormal, "WaitForFirstConsumer",
                    "waiting for first consumer to be created before binding");
      const std::string_view name = consumer.header->field("spec.nodeName");
      if (name.empty())
        return tell(EventType::kNormal, "WaitForPodScheduled",
                    fmt::format("waiting for pod {} to be scheduled", consumer.header->name.name));
      node = view_.get(kNodes, {"", std::string(name)});
      if (!node) return;
    }
    if (const api::Version best = best_volume(node)) return reserve(best);
    provision(storage_class, of_class, node);
  }

  // One that somebody reserved for this claim, by uid or by name.
  api::Version reserved_volume() const {
    for (const api::Version& volume : volumes_of(view_, claim_.header->name)) {
      const auto volume_facts = facts_of(view_, volume);
      if (volume.header->deleting_since || !volume_facts->is_reserved_for(*claim_.header)) continue;
      if (!volume_facts->claim_uid.empty() || why_not_suited(*facts_, *volume_facts).empty()) return volume;
    }
    return {};
  }

  // The smallest that suits, and the first by name of equal ones.
  api::Version best_volume(const api::Version& node) const {
    api::Version best;
    for (const api::Version& volume : free_volumes(view_, facts_->storage_class)) {
      if (volume.header->deleting_since) continue;
      const auto volume_facts = facts_of(view_, volume);
      if (!suits(*facts_, *volume_facts, *volume.header)) continue;
      if (node && !volume_facts->nodes.matches(*node.header)) continue;
      if (!best || volume_facts->size < facts_of(view_, best)->size) best = volume;
    }
    return best;
  }

  void provision(const api::Version& storage_class, const ClassFacts& of_class, const api::Version& node) {
    if (facts_->storage_class.empty())
      return tell(EventType::kNormal, "FailedBinding",
                  "no persistent volumes available for this claim and no storage class is set");
    if (!storage_class)
      return tell(EventType::kWarning, "ProvisioningFailed",
                  fmt::format("storageclass.storage.k8s.io \"{}\" not found", facts_->storage_class));
    if (of_class.provisioner != kLocalProvisioner)
      return tell(EventType::kNormal, "ExternalProvisioning",
                  fmt::format("Waiting for a volume to be created either by the external provisioner '{}' or manually "
                              "by the system administrator. If volume creation is delayed, please verify that the "
                              "provisioner is running and correctly registered.",
                              of_class.provisioner));
    if (!node)
      return tell(EventType::kWarning, "ProvisioningFailed",
                  fmt::format("a volume of {} is on one node: the class must have volumeBindingMode "
                              "WaitForFirstConsumer",
                              kLocalProvisioner));
    const std::string name = "pvc-" + claim_.header->uid;
    Create action{kPersistentVolumes, "", local_volume(name, of_class, *node.header)};
    action.announce.done =
        event(EventType::kNormal, "ProvisioningSucceeded", fmt::format("Successfully provisioned volume {}", name));
    action.announce.failed = event(EventType::kWarning, "ProvisioningFailed", "failed to provision volume: ");
    outcome_.allowed_now.push_back(std::move(action));
  }

  json::Value local_volume(const std::string& name, const ClassFacts& of_class, const api::Header& node) const {
    const api::Header& claim = *claim_.header;
    const std::string path =
        fmt::format("{}/{}-{}-{}", binder_.options_.volumes, claim.name.ns, claim.name.name, claim.uid);
    const std::string_view label = node.label(kHostname);
    json::Object expression{{"key", kHostname},
                            {"operator", "In"},
                            {"values", json::Array{json::Value(label.empty() ? node.name.name : label)}}};
    json::Object term{{"matchExpressions", json::Array{std::move(expression)}}};
    json::Object required{{"nodeSelectorTerms", json::Array{std::move(term)}}};
    return json::Object{
        {"apiVersion", "v1"},
        {"kind", "PersistentVolume"},
        {"metadata", json::Object{{"name", name}, {"annotations", json::Object{{kProvisionedBy, kLocalProvisioner}}}}},
        {"spec", json::Object{{"capacity", json::Object{{"storage", facts_->size.to_string()}}},
                              {"accessModes", json::Array(facts_->modes.begin(), facts_->modes.end())},
                              {"volumeMode", facts_->volume_mode},
                              {"storageClassName", facts_->storage_class},
                              {"persistentVolumeReclaimPolicy", of_class.reclaim_policy},
                              {"hostPath", json::Object{{"path", path}, {"type", "DirectoryOrCreate"}}},
                              {"nodeAffinity", json::Object{{"required", std::move(required)}}},
                              {"claimRef", reference_to(claim_)}}}};
  }

  void reserve(const api::Version& volume) {
    auto tree = json::parse(*volume.json);
    if (!tree) return;
    // Who reserved it by hand keeps it when the claim goes.
    if (!facts_of(view_, volume)->has_claim)
      json::object_at(*tree, {"metadata", "annotations"})[kBoundByController] = "yes";
    json::object_at(*tree, {"spec"})["claimRef"] = reference_to(claim_);
    outcome_.allowed_now.push_back(Update{client::target_of(kPersistentVolumes, volume), std::move(*tree)});
  }

  // The volume is this claim's: the claim says so too.
  void complete(const api::Version& volume) {
    auto tree = json::parse(*claim_.json);
    if (!tree) return;
    json::Object& annotations = json::object_at(*tree, {"metadata", "annotations"});
    if (facts_->volume.empty()) annotations[kBoundByController] = "yes";
    annotations[kBindCompleted] = "yes";
    json::object_at(*tree, {"spec"})["volumeName"] = volume.header->name.name;
    outcome_.allowed_now.push_back(Update{client::target_of(kPersistentVolumeClaims, claim_), std::move(*tree)});
  }

  void write_bound(const api::Version& volume) {
    auto volume_tree = json::parse(*volume.json);
    if (!volume_tree) return;
    json::Object wanted{{"phase", "Bound"}};
    wanted["accessModes"] = json::array_at(*volume_tree, {"spec", "accessModes"});
    wanted["capacity"] = json::map_at(*volume_tree, {"spec", "capacity"});
    write_status(std::move(wanted), std::nullopt);
  }

  void lose(const char* reason, const char* message) {
    if (facts_->phase != "Lost") write_status({{"phase", "Lost"}}, event(EventType::kWarning, reason, message));
  }

  void write_status(json::Object wanted, std::optional<Emit> told) {
    auto tree = json::parse(*claim_.json);
    if (!tree) return;
    const json::Object before = json::map_at(*tree, {"status"});
    json::Object after = before;
    for (const auto& entry : wanted) after[entry.key()] = entry.value();
    if (json::equal(before, after)) return;
    tree->as_object()["status"] = std::move(after);
    Update update{client::target_of(kPersistentVolumeClaims, claim_), std::move(*tree), "status"};
    update.announce.done = std::move(told);
    outcome_.allowed_now.push_back(std::move(update));
  }

  Emit event(EventType type, std::string reason, std::string message) const {
    return {client::subject_of(kPersistentVolumeClaims, "PersistentVolumeClaim", claim_), type, std::move(reason),
            std::move(message)};
  }
  void tell(EventType type, const char* reason, std::string message) {
    std::string& last = binder_.told_[claim_.header->uid];
    if (std::exchange(last, reason + message) != reason + message)
      outcome_.allowed_now.push_back(event(type, reason, std::move(message)));
  }

  const ClaimBinder& binder_;
  const api::Version& claim_;
  std::shared_ptr<const ClaimFacts> facts_;
  const View& view_;
  Outcome outcome_;
};

namespace {

void tell_all(const client::Resource& resource, const std::vector<api::Version>& objects, const client::KeySink& sink) {
  for (const api::Version& object : objects)
    sink(client::key_of(resource, object.header->name), WorkQueue::Priority::kNormal);
}

// A volume concerns its claim; one that is free, all that wait for one of its class.
void on_volume(const ObjectChange& change, const View& view, const client::KeySink& sink) {
  sink(client::key_of(kPersistentVolumes, change.now.header->name), WorkQueue::Priority::kNormal);
  const auto facts = facts_of(view, change.now);
  if (facts->has_claim) sink(client::key_of(kPersistentVolumeClaims, facts->claim), WorkQueue::Priority::kNormal);
  if (!facts->has_claim && change.type != ObjectChange::Type::kDeleted)
    tell_all(kPersistentVolumeClaims, waiting_claims(view, facts->storage_class), sink);
  tell_all(kPersistentVolumeClaims, claims_on(view, change.now.header->name.name), sink);
}

// A claim concerns the volumes that are reserved for it.
void on_claim(const ObjectChange& change, const View& view, const client::KeySink& sink) {
  const api::ObjectName& name = change.now.header->name;
  sink(client::key_of(kPersistentVolumeClaims, name), WorkQueue::Priority::kNormal);
  tell_all(kPersistentVolumes, volumes_of(view, name), sink);
}

// A pod that has come to a node may be a first consumer, and one that has ended the last.
void on_pod(const ObjectChange& change, const View& view, const client::KeySink& sink) {
  const auto state = [](const api::Version& pod) {
    return std::pair(pod.header->field("spec.nodeName"), has_ended(*pod.header));
  };
  if (change.type == ObjectChange::Type::kModified && state(change.before) == state(change.now)) return;
  const auto used = view.objects(kPods).facts(change.now, read_pod_claims);
  for (const std::string& claim : used->names) {
    const api::ObjectName name{change.now.header->name.ns, claim};
    sink(client::key_of(kPersistentVolumeClaims, name), WorkQueue::Priority::kNormal);
    tell_all(kPersistentVolumes, volumes_of(view, name), sink);
  }
}

}  // namespace

std::vector<client::WatchRule> ClaimBinder::watches() const {
  return {{.resource = kPersistentVolumeClaims,
           .keys =
               [this](const ObjectChange& change, const View& view, const client::KeySink& sink) {
                 if (change.type == ObjectChange::Type::kDeleted) told_.erase(change.now.header->uid);
                 on_claim(change, view, sink);
               },
           .indexes = {claims_by_volume(), waiting_claims_by_class()}},
          {.resource = kPersistentVolumes, .keys = on_volume, .indexes = {volumes_by_claim(), free_volumes_by_class()}},
          {.resource = kStorageClasses,
           .keys =
               [](const ObjectChange& change, const View& view, const client::KeySink& sink) {
                 tell_all(kPersistentVolumeClaims, waiting_claims(view, change.now.header->name.name), sink);
               }},
          {.resource = kPods, .keys = on_pod, .indexes = {pods_by_claim()}},
          {.resource = kNodes}};
}

Outcome ClaimBinder::reconcile(const api::ObjectKey& key, const View& view) const {
  if (key.resource == client::resource_name(kPersistentVolumes)) return look_at_volume(key.object.name, view);
  const api::Version claim = view.get(kPersistentVolumeClaims, key.object);
  if (!claim || claim.header->deleting_since) return {};
  return ClaimLook(*this, claim, view).run();
}

}  // namespace gangway::controllers
