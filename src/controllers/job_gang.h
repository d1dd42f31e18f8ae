// Whether the pods of a Job are one gang: it says so, or all of its indexes run at once. Pure.
//
// Its pods then bear the label of a PodGroup that is called like the Job; jobs/batch_gangs.h makes that.
#pragma once

#include "json/value.h"

namespace gangway::controllers {

bool is_gang(const json::Value& job);

}  // namespace gangway::controllers
