// Pod templates of training jobs, which are stored as they were written: without the defaults that their pods get.
#pragma once

#include "apiserver/strategies/field.h"

namespace gangway::apiserver {

// What no pod could be made of is refused when the job is made. What was so before the update is left alone.
void check_job_template(const Field& pod_template, const Field& before);

}  // namespace gangway::apiserver
