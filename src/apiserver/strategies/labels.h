// Rules for labels and selectors below a spec: templates, selectors, node selectors.
#pragma once

#include "apiserver/strategies/field.h"

namespace gangway::apiserver {

// A LabelSelector; silent when there is none.
void check_selector(const Field& selector);
// A map of labels ("metadata.labels" of a template, a node selector, a service's selector).
void check_labels(const Field& labels);
void check_annotations(const Field& annotations);
// A whole number or a percentage, not negative.
void check_count_or_percent(const Field& field);
void check_at_most_100_percent(const Field& field);
bool is_zero_count_or_percent(const Field& field);

}  // namespace gangway::apiserver
