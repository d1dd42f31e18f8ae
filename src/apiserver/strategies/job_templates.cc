#include "apiserver/strategies/job_templates.h"

#include "apiserver/strategies/pod_spec.h"

namespace gangway::apiserver {
namespace {

// Elsewhere the schema sees to it, which leaves such a template alone.
void check_amounts(const Field& spec) {
  for (const char* list : {"containers", "initContainers"})
    for (const auto& container : spec[list].items())
      for (const char* which : {"limits", "requests"})
        for (const auto& [resource, amount] : container["resources"][which].entries())
          if (!amount.quantity()) amount.invalid("must be a quantity, such as 2, 500m or 4Gi");
}

}  // namespace

void check_job_template(const Field& pod_template, const Field& before) {
  if (!pod_template || (before && pod_template.same_as(before))) return;
  check_amounts(pod_template["spec"]);
  json::Value with_defaults = *pod_template.value();
  if (auto* spec = json::find(with_defaults, {"spec"})) add_pod_spec_defaults(*spec);
  check_template(Field(&with_defaults, pod_template.path(), pod_template.causes()));
}

}  // namespace gangway::apiserver
