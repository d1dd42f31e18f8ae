// Rules for the annotations by which pods and PodGroups say how they want to be scheduled (api/gang.h).
#pragma once

#include "apiserver/strategies/field.h"

namespace gangway::apiserver {

// Adds a cause for each annotation that says nothing the scheduler could go by. `before` is the object before the
// update, or a Field of nothing: what was stored before there was a rule does not stand in the way of other changes.
// Costs a look at the keys when there is none with our prefix.
void check_group_annotations(const Field& group, const Field& before);
// Of a pod that belongs to a group, the group decides; what the pod says has only to be well-formed.
void check_pod_annotations(const Field& pod, const Field& before);

// Of a job, whose PodGroup they are copied to. `is_elastic`: it can go on with fewer pods than it would like.
void check_job_annotations(const Field& job, const Field& before, bool is_elastic);

}  // namespace gangway::apiserver
