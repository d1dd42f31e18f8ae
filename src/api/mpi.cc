#include "api/mpi.h"

#include <algorithm>

namespace gangway::api {

MpiGeneration mpi_generation(const json::Value& job) {
  const json::Object& spec = json::map_at(job, {"spec"});
  if (!spec.contains("mpiReplicaSpecs")) return MpiGeneration::kV1Alpha1;
  constexpr std::string_view kOnlyThere[] = {"mpiImplementation", "sshAuthMountPath", "launcherCreationPolicy",
                                             "runLauncherAsWorker"};
  const bool is_there = std::any_of(std::begin(kOnlyThere), std::end(kOnlyThere),
                                    [&](std::string_view field) { return spec.contains(field); });
  return is_there ? MpiGeneration::kV2Beta1 : MpiGeneration::kV1;
}

std::string_view to_text(MpiGeneration generation) {
  switch (generation) {
    case MpiGeneration::kV1Alpha1:
      return "v1alpha1";
    case MpiGeneration::kV1:
      return "v1";
    case MpiGeneration::kV2Beta1:
      break;
  }
  return "v2beta1";
}

}  // namespace gangway::api
