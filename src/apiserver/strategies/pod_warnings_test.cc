#include "apiserver/strategies/pod_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/strategies/test_review.h"

namespace gangway::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

std::vector<std::string> warnings_of(std::string_view text) {
  auto spec = json::parse(text).value();
  Causes causes;
  auto warnings = pod_spec_warnings(Field(&spec, "spec", causes));
  EXPECT_THAT(causes, IsEmpty());
  return warnings;
}

TEST(PodWarnings, NameThePlaceOfEachOddity) {
  struct Oddity {
    std::string_view spec;
    std::vector<std::string> warnings;
  };
  const Oddity kOddities[] = {
      {R"({"containers":[{"name":"c","env":[{"name":"A","value":"1"},{"name":"B","value":"1"}],
           "ports":[{"containerPort":80,"protocol":"TCP","name":"x"},{"containerPort":80,"protocol":"UDP","name":"y"}]}],
           "volumes":[{"name":"v","configMap":{"name":"m","items":[{"key":"a","path":"ab"},{"key":"b","path":"a"}]}}]})",
       {}},
      {R"({"volumes":[{"name":"v","secret":{"secretName":"s","items":[{"path":"a/b"},{"path":"a/"},{"path":"c"}]}}]})",
       {R"(volume "v" (Secret "s"): overlapping paths: "a" with "a/b")"}},
      {R"({"volumes":[{"name":"v","configMap":{"name":"m","items":[{"path":"a"},{"path":"a"}]}}]})",
       {R"(volume "v" (ConfigMap "m"): overlapping paths: "a" with "a")"}},
      {R"({"volumes":[{"name":"v","projected":{"sources":[
           {"serviceAccountToken":{"path":"t"}},{"configMap":{"name":"m","items":[{"key":"a","path":"t/u"}]}}]}}]})",
       {R"(volume "v" (Projected): overlapping paths: "t/u" (ConfigMap "m") with "t" (ServiceAccountToken))"}},
      {R"({"volumes":[{"name":"v","projected":{"sources":[{}]}}]})",
       {R"(volume "v" (Projected) has no sources provided)"}},
      {R"({"hostAliases":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"},{"ip":"10.0.0.1"}]})",
       {R"(spec.hostAliases[2].ip: duplicate ip "10.0.0.1")"}},
      {R"({"imagePullSecrets":[{"name":"a"},{"name":"a"},{}]})",
       {R"(spec.imagePullSecrets[1].name: duplicate name "a")",
        R"(spec.imagePullSecrets[2].name: invalid empty name "")"}},
      {R"-({"containers":[{"name":"c","env":[{"name":"A","value":"1"},{"name":"A","value":"2"},
           {"name":"A","value":"$(A)3"},{"name":"A","value":"$(A)"}]}]})-",
       {R"(spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply)",
        R"(spec.containers[0].env[3]: hides previous definition of "A", which may be dropped when using apply)"}},
      {R"({"containers":[{"name":"c","ports":[{"containerPort":80,"protocol":"TCP"}]},
           {"name":"d","ports":[{"containerPort":80,"protocol":"TCP"},
                                {"containerPort":80,"protocol":"TCP","hostPort":80}]}]})",
       {"spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]",
        "spec.containers[1].ports[1]: overlapping port definition with spec.containers[0].ports[0]",
        "spec.containers[1].ports[1]: overlapping port definition with spec.containers[1].ports[0]"}},
      {R"({"containers":[{"name":"c","ports":[{"containerPort":80,"name":"x"},{"containerPort":81,"name":"x"}]}]})",
       {"spec.containers[0].ports[1]: duplicate port name \"x\" with spec.containers[0].ports[0], services and probes "
        "that select ports by name will use spec.containers[0].ports[0]"}},
      {R"({"terminationGracePeriodSeconds":-1})",
       {"spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"}},
      {R"({"topologySpreadConstraints":[{"topologyKey":"zone"}],
           "affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
             {"podAffinityTerm":{"topologyKey":"zone"}},{"podAffinityTerm":{"labelSelector":{}}}]}}})",
       {"spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
        "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm"
        ".labelSelector: a null labelSelector results in matching no pod"}},
  };
  for (const auto& oddity : kOddities) {
    EXPECT_THAT(warnings_of(oddity.spec), ElementsAreArray(oddity.warnings)) << oddity.spec;
  }
}

TEST(PodWarnings, TemplatesAreLookedAtWhenTheirSpecChanges) {
  TestWrites writes("apps", "ReplicaSet", "replicasets");
  const std::string odd =
      R"({"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":
          {"a":"b"}},"spec":{"restartPolicy":"Always","terminationGracePeriodSeconds":-1,
          "containers":[{"name":"c","image":"i"}]}}}})";
  auto made = writes.create(odd);
  EXPECT_THAT(made.warnings, ElementsAre("spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative "
                                         "values are invalid and will be treated as 1"));
  EXPECT_THAT(writes.update(made.object, odd).warnings, IsEmpty());
}

}  // namespace
}  // namespace gangway::apiserver
