#include "agent/pod/pod_spec.h"

#include <gtest/gtest.h>

#include "agent/pod/building.h"
#include "agent/pod/test_machine.h"

namespace gangway::agent {
namespace {

TEST(PodSpec, DnsPolicyChoosesWhoComesFirst) {
  struct Case {
    const char* name;
    const char* spec;
    bool cluster;
    bool machine;
  };
  for (const auto& [name, spec, cluster, machine] : {
           Case{"nothing said", R"({})", true, true},
           Case{"cluster", R"({"dnsPolicy": "ClusterFirst"})", true, true},
           Case{"cluster, but the machine's network", R"({"dnsPolicy": "ClusterFirst", "hostNetwork": true})", false,
                true},
           Case{"cluster even so", R"({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": true})", true, true},
           Case{"machine", R"({"dnsPolicy": "Default"})", false, true},
           Case{"only what it lists", R"({"dnsPolicy": "None"})", false, false},
       }) {
    auto pod = pod_of(R"({"spec": )" + std::string(spec) + "}");
    EXPECT_EQ(pod.dns.cluster, cluster) << name;
    EXPECT_EQ(pod.dns.machine, machine) << name;
  }
}

TEST(PodSpec, ASandboxKnowsItsJobAndLabels) {
  const auto spec = build_sandbox(pod_of(R"({"metadata": {"labels": {"batch.kubernetes.io/job-completion-index": "3"},
      "ownerReferences": [{"apiVersion": "v1", "kind": "Config", "name": "c", "uid": "1"},
                          {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "2", "controller": true}]}})"));
  EXPECT_EQ(spec.owner, (PodOwner{.kind = "Job", .name = "train"}));
  EXPECT_EQ(spec.labels, (std::map<std::string, std::string>{{"batch.kubernetes.io/job-completion-index", "3"}}));
  EXPECT_EQ(build_sandbox(pod_of("{}")).owner, PodOwner());
}

}  // namespace
}  // namespace gangway::agent
