#include "agent/oci/layout.h"

#include <gtest/gtest.h>

#include <set>

namespace gangway::agent::oci {
namespace {

const ContainerId kId{.pod_uid = "0b5f", .container = "main", .attempt = 2};

TEST(Layout, KeepsEverythingBelowTheDataDirectory) {
  const Layout layout("/data");
  EXPECT_EQ(layout.container(kId), "/data/agent/pods/0b5f/containers/main/2");
  EXPECT_EQ(layout.volume("0b5f", "scratch"), "/data/agent/pods/0b5f/volumes/scratch");
  EXPECT_EQ(layout.log({.uid = "0b5f", .ns = "team-a", .name = "job-0", .node = "n"}, kId),
            "/data/agent/logs/team-a_job-0_0b5f/main/2.log");
}

TEST(Layout, LongNamesOfPodsFitIntoAFoldersName) {
  const Layout layout("/data");
  const PodIdentity pod{
      .uid = std::string(36, 'u'), .ns = std::string(63, 'n'), .name = std::string(253, 'p'), .node = "n"};
  const auto log = layout.log(pod, kId);
  const auto folder = log.substr(17, log.find('/', 17) - 17);  // behind "/data/agent/logs/"
  EXPECT_LE(folder.size(), 255U);
  EXPECT_TRUE(folder.ends_with("_" + pod.uid));
}

TEST(Layout, NamesOutsideCarryTheShortId) {
  const Layout layout("/data");
  const std::string own = layout.short_id();
  EXPECT_EQ(layout.cgroup(kId), "/" + own + "/pod0b5f/main-2");
  EXPECT_TRUE(layout.shim_cgroup(kId).starts_with("/" + own + "/shims/" + own));
  EXPECT_NE(own, Layout("/other").short_id());
}

TEST(Layout, RuntimeIdsFitAndDiffer) {
  const Layout layout("/data");
  const std::string name(63, 'c');
  std::set<std::string> ids;
  for (const auto* uid : {"6f1c2f0e-5d0b-4d5e-9c0a-000000000001", "6f1c2f0e-5d0b-4d5e-9c0a-000000000002"}) {
    for (const unsigned attempt : {0U, 1U, 4'294'967'295U}) {
      for (const auto& container : {name, name.substr(1)}) {
        const auto id = layout.runtime_id({.pod_uid = uid, .container = container, .attempt = attempt});
        EXPECT_LE(id.size(), 63U);
        ids.insert(id);
      }
    }
  }
  EXPECT_EQ(ids.size(), 12U);
}

TEST(Layout, RefusesNamesThatLeadElsewhere) {
  for (const auto* bad : {"", ".", "..", "a/b", "/etc"}) {
    EXPECT_FALSE(check_path_parts({.pod_uid = bad, .container = "main"})) << bad;
    EXPECT_FALSE(check_path_parts({.pod_uid = "u", .container = bad})) << bad;
  }
  EXPECT_TRUE(check_path_parts(kId));
}

}  // namespace
}  // namespace gangway::agent::oci
