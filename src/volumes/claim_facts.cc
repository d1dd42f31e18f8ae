#include "volumes/claim_facts.h"

#include <algorithm>

namespace gangway::volumes {
namespace {

constexpr const char* kBetaClass = "volume.beta.kubernetes.io/storage-class";

std::string text(const json::Value& tree, std::initializer_list<std::string_view> path,
                 std::string_view otherwise = "") {
  const std::string_view found = json::string_at(tree, path);
  return std::string(found.empty() ? otherwise : found);
}

std::set<std::string> modes_at(const json::Value& tree) {
  std::set<std::string> modes;
  for (const json::Value& mode : json::array_at(tree, {"spec", "accessModes"}))
    if (mode.is_string()) modes.emplace(mode.get_string());
  return modes;
}

std::string class_of(const json::Value& tree) {
  return text(tree, {"metadata", "annotations", kBetaClass}, json::string_at(tree, {"spec", "storageClassName"}));
}

Quantity quantity_at(const json::Value& tree, std::initializer_list<std::string_view> path) {
  return Quantity::parse(json::string_at(tree, path)).value_or(Quantity());
}

bool has_annotation(const json::Value& tree, const char* key) {
  return json::find(tree, {"metadata", "annotations", key}) != nullptr;
}

}  // namespace

namespace {

// Alternatives of labels with their values, which a node selector says with an operator.
api::NodeSelector topologies_of(const json::Value& storage_class) {
  const auto& allowed = json::array_at(storage_class, {"allowedTopologies"});
  if (allowed.empty()) return {};
  json::Array terms;
  for (const json::Value& topology : allowed) {
    json::Array labels;
    for (const json::Value& label : json::array_at(topology, {"matchLabelExpressions"}))
      labels.push_back(json::Object{
          {"key", json::string_at(label, {"key"})}, {"operator", "In"}, {"values", json::array_at(label, {"values"})}});
    terms.push_back(json::Object{{"matchExpressions", std::move(labels)}});
  }
  const json::Value selector = json::Object{{"nodeSelectorTerms", std::move(terms)}};
  return api::NodeSelector::of_terms(&selector);
}

}  // namespace

ClaimFacts read_claim(const api::Version& version) {
  ClaimFacts facts;
  const auto tree = json::parse(*version.json);
  if (!tree) return facts;
  facts.phase = text(*tree, {"status", "phase"});
  facts.volume = text(*tree, {"spec", "volumeName"});
  facts.is_bound = has_annotation(*tree, kBindCompleted);
  facts.selected_node = text(*tree, {"metadata", "annotations", kSelectedNode});
  facts.storage_class = class_of(*tree);
  facts.modes = modes_at(*tree);
  facts.volume_mode = text(*tree, {"spec", "volumeMode"}, "Filesystem");
  facts.size = quantity_at(*tree, {"spec", "resources", "requests", "storage"});
  if (const json::Value* selector = json::find(*tree, {"spec", "selector"});
      selector != nullptr && selector->is_object())
    facts.selector = api::read_label_selector(*selector).value_or(api::LabelSelector::nothing());
  return facts;
}

VolumeFacts read_volume(const api::Version& version) {
  VolumeFacts facts;
  const auto tree = json::parse(*version.json);
  if (!tree) return facts;
  facts.phase = text(*tree, {"status", "phase"});
  if (const json::Value* claim = json::find(*tree, {"spec", "claimRef"}); claim != nullptr && claim->is_object()) {
    facts.has_claim = true;
    facts.claim = {text(*claim, {"namespace"}), text(*claim, {"name"})};
    facts.claim_uid = text(*claim, {"uid"});
  }
  facts.is_bound_by_controller = has_annotation(*tree, kBoundByController);
  facts.provisioner = text(*tree, {"metadata", "annotations", kProvisionedBy});
  facts.reclaim_policy = text(*tree, {"spec", "persistentVolumeReclaimPolicy"}, "Retain");
  facts.storage_class = class_of(*tree);
  facts.modes = modes_at(*tree);
  facts.volume_mode = text(*tree, {"spec", "volumeMode"}, "Filesystem");
  facts.size = quantity_at(*tree, {"spec", "capacity", "storage"});
  facts.nodes = api::NodeSelector::of_terms(json::find(*tree, {"spec", "nodeAffinity", "required"}));
  return facts;
}

ClassFacts read_class(const api::Version& version) {
  ClassFacts facts;
  const auto tree = json::parse(*version.json);
  if (!tree) return facts;
  facts.provisioner = text(*tree, {"provisioner"});
  facts.reclaim_policy = text(*tree, {"reclaimPolicy"}, "Delete");
  facts.waits_for_consumer = json::string_at(*tree, {"volumeBindingMode"}) == "WaitForFirstConsumer";
  facts.nodes = topologies_of(*tree);
  return facts;
}

PodClaims read_pod_claims(const api::Version& version) {
  PodClaims claims;
  // Most pods use none, and to read one costs more than to see that.
  if (version.json->find("persistentVolumeClaim") == std::string::npos &&
      version.json->find("ephemeral") == std::string::npos)
    return claims;
  const auto tree = json::parse(*version.json);
  if (!tree) return claims;
  for (const json::Value& volume : json::array_at(*tree, {"spec", "volumes"})) {
    if (std::string name = text(volume, {"persistentVolumeClaim", "claimName"}); !name.empty())
      claims.names.push_back(std::move(name));
    if (json::find(volume, {"ephemeral"}) != nullptr)
      claims.names.push_back(version.header->name.name + "-" + text(volume, {"name"}));
  }
  return claims;
}

std::string why_not_suited(const ClaimFacts& claim, const VolumeFacts& volume) {
  if (volume.size < claim.size) return "requested PV is too small";
  if (volume.storage_class != claim.storage_class) return "storageClassName does not match";
  if (volume.volume_mode != claim.volume_mode) return "incompatible volumeMode";
  if (!std::includes(volume.modes.begin(), volume.modes.end(), claim.modes.begin(), claim.modes.end()))
    return "incompatible accessMode";
  return {};
}

bool suits(const ClaimFacts& claim, const VolumeFacts& volume, const api::Header& volume_header) {
  if (claim.selector && !claim.selector->matches(volume_header)) return false;
  return why_not_suited(claim, volume).empty();
}

}  // namespace gangway::volumes
