// Who is whose among claims, volumes and pods, found without going through all of them. Pure.
//
// Whoever asks must have the index in its WatchRule for that resource.
#pragma once

#include <string>
#include <vector>

#include "api/object.h"
#include "client/object_cache.h"
#include "client/view.h"

namespace gangway::volumes {

client::KeyIndex pods_by_claim();
client::KeyIndex volumes_by_claim();
client::KeyIndex free_volumes_by_class();
client::KeyIndex claims_by_volume();
client::KeyIndex waiting_claims_by_class();

// The pods that use the claim and have not ended, in the order of names.
std::vector<api::Version> pods_using(const client::View& view, const api::ObjectName& claim);
// The volumes that are reserved for a claim of that name.
std::vector<api::Version> volumes_of(const client::View& view, const api::ObjectName& claim);
// Those that are nobody's.
std::vector<api::Version> free_volumes(const client::View& view, const std::string& storage_class);
// The claims that name the volume.
std::vector<api::Version> claims_on(const client::View& view, const std::string& volume);
// Those that are not bound.
std::vector<api::Version> waiting_claims(const client::View& view, const std::string& storage_class);

}  // namespace gangway::volumes
