// What the rules of Kueue's kinds share.
//
// Rules are written for v1beta2, the version that is stored. A request in v1beta1 is judged by what it becomes there;
// what is refused is named as the request has it.
#pragma once

#include <initializer_list>
#include <string_view>

#include "apiserver/strategies/review.h"

namespace gangway::apiserver {

// A field of v1beta2 that has another name in v1beta1; what is below it is found below that.
struct RenamedField {
  std::string_view newer;
  std::string_view older;
};

// The object as it will be and as it was, in v1beta2.
using KueueRules = void (*)(const Field& object, const Field& before);

void check_in_newer_version(Review& review, KueueRules rules, std::initializer_list<RenamedField> renamed = {});

// spec.resourceGroups of a ClusterQueue or a Cohort. Only one that is in a cohort itself lends and borrows.
void check_resource_groups(const Field& groups, bool is_in_cohort);
// spec.fairSharing.weight
void check_weight_of_share(const Field& spec);

}  // namespace gangway::apiserver
