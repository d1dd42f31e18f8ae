#include "controllers/volume_phase.h"

#include <optional>
#include <utility>

#include "client/resource.h"
#include "volumes/claim_facts.h"
#include "volumes/claim_indexes.h"

namespace gangway::controllers {
namespace {

using namespace volumes;

using client::Delete;
using client::Outcome;
using client::Update;
using client::View;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPersistentVolumes;

void write_phase(const api::Version& volume, const char* phase, Outcome& outcome) {
  auto tree = json::parse(*volume.json);
  if (!tree || json::string_at(*tree, {"status", "phase"}) == phase) return;
  json::object_at(*tree, {"status"})["phase"] = phase;
  outcome.allowed_now.push_back(Update{client::target_of(kPersistentVolumes, volume), std::move(*tree), "status"});
}

// Nobody's any more.
void free(const api::Version& volume, Outcome& outcome) {
  auto tree = json::parse(*volume.json);
  if (!tree) return;
  json::object_at(*tree, {"spec"}).erase("claimRef");
  json::object_at(*tree, {"metadata", "annotations"}).erase(kBoundByController);
  outcome.allowed_now.push_back(Update{client::target_of(kPersistentVolumes, volume), std::move(*tree)});
}

void release(const api::Version& volume, const VolumeFacts& facts, const View& view, Outcome& outcome) {
  write_phase(volume, "Released", outcome);
  if (!outcome.allowed_now.empty()) return;
  const bool is_ours = facts.provisioner == kLocalProvisioner && facts.reclaim_policy == "Delete";
  // A claim may go before the last pod that has it mounted; the data may not.
  if (is_ours && pods_using(view, facts.claim).empty())
    outcome.allowed_now.push_back(Delete{client::target_of(kPersistentVolumes, volume)});
}

}  // namespace

Outcome look_at_volume(const std::string& name, const View& view) {
  Outcome outcome;
  const api::Version volume = view.get(kPersistentVolumes, {"", name});
  if (!volume || volume.header->deleting_since) return outcome;
  const auto facts = view.objects(kPersistentVolumes).facts(volume, read_volume);
  if (!facts->has_claim || facts->claim_uid.empty()) {
    write_phase(volume, "Available", outcome);
    return outcome;
  }
  const auto& claims = view.objects(kPersistentVolumeClaims);
  const api::Version claim = claims.get(facts->claim);
  if (!claim || claim.header->uid != facts->claim_uid) {
    release(volume, *facts, view, outcome);
    return outcome;
  }
  const std::string wanted = claims.facts(claim, read_claim)->volume;
  if (wanted == name) {
    write_phase(volume, "Bound", outcome);
  } else if (!wanted.empty() && facts->provisioner == kLocalProvisioner) {
    release(volume, *facts, view, outcome);
  } else if (!wanted.empty() && facts->is_bound_by_controller) {
    free(volume, outcome);
  } else if (facts->phase.empty() || facts->phase == "Pending") {
    write_phase(volume, "Available", outcome);
  }
  return outcome;
}

}  // namespace gangway::controllers
