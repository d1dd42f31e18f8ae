// matchLabelKeys and mismatchLabelKeys of a new pod's terms about other pods. Pure.
#pragma once

#include "json/value.h"

namespace gangway::apiserver {

// Writes the values that the pod has now for these labels into the terms' selectors: who matches and places pods then
// reads selectors alone, and a change of the pod's labels changes nothing.
void apply_label_keys(json::Value& pod);

}  // namespace gangway::apiserver
