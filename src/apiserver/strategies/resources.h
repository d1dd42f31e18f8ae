// Rules for amounts of resources: cpu, memory, GPUs, huge pages.
#pragma once

#include <string_view>

#include "apiserver/strategies/field.h"

namespace gangway::apiserver {

bool is_huge_page(std::string_view resource);
// Resources of devices and the like ("nvidia.com/gpu"): whole numbers that cannot be shared.
bool is_extended_resource(std::string_view resource);

// The amount of one resource: not negative, and whole where the resource comes in pieces.
void check_resource_amount(std::string_view resource, const Field& amount);

// `resources` of a container: names, amounts, requests against limits.
void check_container_resources(const Field& resources);

}  // namespace gangway::apiserver
