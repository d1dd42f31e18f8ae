// What a simulated pod's record says ran, told to a runtime that has just begun. Pure but for that.
#pragma once

#include "agent/pod/machine.h"
#include "agent/simulated/simulated_runtime.h"

namespace gangway::agent {

void adopt_from_record(SimulatedRuntime& runtime, const PodSpec& spec, const PodRecord& record);

}  // namespace gangway::agent
