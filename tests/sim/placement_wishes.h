// What users of a contended cluster ask for: classes of priority, GPUs, and how they want to be preempted. For
// workloads.
#pragma once

#include <string>
#include <utility>

#include "json/value.h"
#include "sim/user.h"

namespace gangway::sim {

inline const client::Resource kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses"};
inline const client::Resource kPodGroups{"scheduling.x-k8s.io", "v1alpha1", "podgroups"};
inline const client::Resource kConfigurations{"gangway.dev", "v1alpha1", "configurations"};

// Makes the classes that all users share, the top one first.
void create_priority_classes(User& user, sys::Task then);
// The name of one of them, or "" for a pod that states none.
std::string some_class(testing::Random& random);

// A container of some size: GPUs or none.
json::Object some_container(testing::Random& random);
// How long it runs and takes to stop; some run for ever.
json::Object some_life(testing::Random& random);
// min-runtime, max-preemptions, on-preempt.
void add_some_wishes(testing::Random& random, bool is_elastic, json::Object& annotations);

}  // namespace gangway::sim
