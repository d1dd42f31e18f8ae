// Rules for the spec of a pod, which stands in Pods and in the templates of workloads.
#pragma once

#include <set>
#include <string_view>

#include "apiserver/strategies/field.h"
#include "json/value.h"

namespace gangway::apiserver {

// Defaults of a pod spec that depend on other fields; the same for pods and templates.
void add_pod_spec_defaults(json::Value& spec);
// What this server does not offer is dropped without a word, as the real one does with disabled features.
void drop_disabled_fields(json::Value& spec);

enum class PodSpecOf { kPod, kTemplate };
void check_pod_spec(const Field& spec, PodSpecOf of);
// The labels and annotations of a PodTemplateSpec.
void check_template_metadata(const Field& pod_template);
// A PodTemplateSpec: labels, annotations and the spec.
void check_template(const Field& pod_template);
// The spec of the template at `spec.template` of a workload: defaults, for strategies' add_defaults.
void add_template_defaults(json::Value& workload);

// The parts; each silent when its field is missing.
void check_containers(const Field& spec, const std::set<std::string_view>& volumes);
// Returns the names of the volumes that are right.
std::set<std::string_view> check_volumes(const Field& volumes);
void check_tolerations(const Field& tolerations);
// The other side of it: the taints of nodes.
void check_taints(const Field& taints);
void check_affinity(const Field& affinity);
void check_spread(const Field& constraints);
void check_node_selector(const Field& selector);
void check_relative_path(const Field& path);
void check_file_mode(const Field& mode);
// fieldRef of a variable or a file; `supported` are the plain paths that are known there.
void check_field_reference(const Field& reference, std::initializer_list<std::string_view> supported);

}  // namespace gangway::apiserver
