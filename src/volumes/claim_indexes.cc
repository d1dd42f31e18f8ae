#include "volumes/claim_indexes.h"

#include <utility>

#include "api/pod_phase.h"
#include "client/resource.h"
#include "volumes/claim_facts.h"

namespace gangway::volumes {
namespace {

using client::KeyIndex;
using client::ObjectCache;
using client::View;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPersistentVolumes;
using client::resources::kPods;
using Keys = std::vector<std::string>;

constexpr const char* kByClaim = "claim";
constexpr const char* kFreeByClass = "class, if free";
constexpr const char* kByVolume = "volume";
constexpr const char* kWaitingByClass = "class, if waiting";

std::string key_of(const api::ObjectName& name) {
  return name.ns + "/" + name.name;
}

}  // namespace

KeyIndex pods_by_claim() {
  return {kByClaim, [](const ObjectCache& cache, const api::Version& pod) {
            Keys keys;
            const auto used = cache.facts(pod, read_pod_claims);
            for (const std::string& claim : used->names) keys.push_back(key_of({pod.header->name.ns, claim}));
            return keys;
          }};
}

KeyIndex volumes_by_claim() {
  return {kByClaim, [](const ObjectCache& cache, const api::Version& volume) {
            const auto facts = cache.facts(volume, read_volume);
            return facts->has_claim ? Keys{key_of(facts->claim)} : Keys();
          }};
}

KeyIndex free_volumes_by_class() {
  return {kFreeByClass, [](const ObjectCache& cache, const api::Version& volume) {
            const auto facts = cache.facts(volume, read_volume);
            return facts->has_claim ? Keys() : Keys{facts->storage_class};
          }};
}

KeyIndex claims_by_volume() {
  return {kByVolume, [](const ObjectCache& cache, const api::Version& claim) {
            const auto facts = cache.facts(claim, read_claim);
            return facts->volume.empty() ? Keys() : Keys{facts->volume};
          }};
}

KeyIndex waiting_claims_by_class() {
  return {kWaitingByClass, [](const ObjectCache& cache, const api::Version& claim) {
            const auto facts = cache.facts(claim, read_claim);
            return facts->is_bound ? Keys() : Keys{facts->storage_class};
          }};
}

std::vector<api::Version> pods_using(const View& view, const api::ObjectName& claim) {
  std::vector<api::Version> users = view.objects(kPods).with_key(kByClaim, key_of(claim));
  std::erase_if(users, [](const api::Version& pod) { return api::has_ended(*pod.header); });
  return users;
}

std::vector<api::Version> volumes_of(const View& view, const api::ObjectName& claim) {
  return view.objects(kPersistentVolumes).with_key(kByClaim, key_of(claim));
}

std::vector<api::Version> free_volumes(const View& view, const std::string& storage_class) {
  return view.objects(kPersistentVolumes).with_key(kFreeByClass, storage_class);
}

std::vector<api::Version> claims_on(const View& view, const std::string& volume) {
  return view.objects(kPersistentVolumeClaims).with_key(kByVolume, volume);
}

std::vector<api::Version> waiting_claims(const View& view, const std::string& storage_class) {
  return view.objects(kPersistentVolumeClaims).with_key(kWaitingByClass, storage_class);
}

}  // namespace gangway::volumes
