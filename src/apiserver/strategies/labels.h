// Rules for labels and selectors below a spec: templates, selectors, node selectors.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/strategies/field.h"

namespace gangway::apiserver {

// A LabelSelector; silent when there is none.
void check_selector(const Field& selector);
// How a kind words what is wrong with a whole selector.
struct SelectorMessages {
  std::string_view empty;
  std::string_view unreadable;
};
// The selector of a workload: valid, not empty, and matching its template's labels. False when it cannot be read.
bool check_workload_selector(const Field& spec, const SelectorMessages& messages);
// `spec.template.metadata.labels` against `spec.selector`.
void check_selects_template(const Field& spec);
// A LabelSelector in messages, as Go writes it.
std::string shown_selector(const Field& selector);
// The selector of a workload cannot change.
void check_same_selector(const Field& selector, const Field& before);
// A map of labels ("metadata.labels" of a template, a node selector, a service's selector).
void check_labels(const Field& labels);
void check_annotations(const Field& annotations);
// A whole number or a percentage, not negative.
void check_count_or_percent(const Field& field);
void check_at_most_100_percent(const Field& field);
bool is_zero_count_or_percent(const Field& field);

}  // namespace gangway::apiserver
