#include "sim/laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test_roots.h"

namespace gangway::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RevisionsGrowTest, HoldsForWhatAStorePublishes) {
  TestRoots roots;
  Verdicts verdicts;
  auto law = revisions_grow();
  for (const auto* name : {"a", "b", "a"}) {
    const auto change = roots.put({"pods", {"ns", name}});
    law->on_change("pods", change, *roots.root(), verdicts);
  }
  EXPECT_THAT(verdicts.all(), IsEmpty());
}

TEST(RevisionsGrowTest, IsBrokenByAChangeThatComesTwice) {
  TestRoots roots;
  Verdicts verdicts;
  auto law = revisions_grow();
  const auto first = roots.put({"pods", {"ns", "a"}});
  const auto second = roots.put({"pods", {"ns", "a"}});
  law->on_change("pods", second, *roots.root(), verdicts);
  EXPECT_THAT(verdicts.all(), IsEmpty());
  law->on_change("pods", first, *roots.root(), verdicts);
  EXPECT_THAT(verdicts.all(), ElementsAre("pods ns/a was changed at 2 after 3"));
}

TEST(RevisionsGrowTest, IsBrokenByAChangeThatCannotBeReadYet) {
  TestRoots roots;
  Verdicts verdicts;
  const auto before = roots.root();
  revisions_grow()->on_change("pods", roots.put({"pods", {"ns", "a"}}), *before, verdicts);
  EXPECT_THAT(verdicts.all(), ElementsAre(HasSubstr("before it could be read")));
}

TEST(RevisionsGrowTest, IsBrokenByARestartThatGoesBack) {
  TestRoots roots;
  Verdicts verdicts;
  const auto old = roots.root();
  roots.put({"pods", {"ns", "a"}});
  revisions_grow()->on_restart(*roots.root(), *roots.root(), *old, verdicts);
  EXPECT_THAT(verdicts.all(), ElementsAre(HasSubstr("went back")));
}

// What a restart finds, against what was published and what was on its way.
struct Restart {
  TestRoots roots;
  std::shared_ptr<const store::Root> before;
  std::shared_ptr<const store::Root> head;
  std::vector<std::string> judge(const store::Root& root) const {
    Verdicts verdicts;
    nothing_acknowledged_is_lost()->on_restart(*before, *head, root, verdicts);
    return verdicts.all();
  }
};

TEST(NothingAcknowledgedIsLostTest, AllowsEverythingBetweenPublishedAndAccepted) {
  Restart restart;
  auto& roots = restart.roots;
  roots.put({"pods", {"ns", "kept"}});
  roots.put({"pods", {"ns", "deleted"}});
  restart.before = roots.root();
  roots.put({"pods", {"ns", "kept"}});
  const auto between = roots.root();
  roots.put({"pods", {"ns", "kept"}});
  roots.put({"pods", {"ns", "new"}});
  roots.erase("pods", {"ns", "deleted"});
  restart.head = roots.root();
  EXPECT_THAT(restart.judge(*restart.before), IsEmpty());
  EXPECT_THAT(restart.judge(*between), IsEmpty());
  EXPECT_THAT(restart.judge(*restart.head), IsEmpty());
}

TEST(NothingAcknowledgedIsLostTest, IsBrokenByWhatIsMissingOldOrBack) {
  Restart restart;
  auto& roots = restart.roots;
  roots.put({"pods", {"ns", "changed"}});
  roots.put({"pods", {"ns", "deleted"}});
  const auto old = roots.root();
  roots.put({"pods", {"ns", "changed"}});
  roots.erase("pods", {"ns", "deleted"});
  roots.put({"pods", {"ns", "new"}});
  restart.before = restart.head = roots.root();
  EXPECT_THAT(restart.judge(*old), ElementsAre(HasSubstr("pods ns/changed was at 4"), HasSubstr("pods ns/new was at 6"),
                                               HasSubstr("pods ns/deleted was at 0")));
}

TEST(NothingAcknowledgedIsLostTest, LeasesMayBeOlder) {
  Restart restart;
  auto& roots = restart.roots;
  const auto old = roots.root();
  roots.put({"leases.coordination.k8s.io", {"kube-node-lease", "node-0"}});
  restart.before = restart.head = roots.root();
  EXPECT_THAT(restart.judge(*old), IsEmpty());
}

std::vector<std::string> at_rest(Law& law, const TestRoots& roots) {
  Verdicts verdicts;
  law.at_rest(*roots.root(), verdicts);
  return verdicts.all();
}

TEST(NoOrphansTest, IsBrokenByWhatOutlivesItsOwnerOrIsNeverGone) {
  TestRoots roots;
  roots.put({"configmaps", {"ns", "owner"}, "u1"});
  roots.put({"configmaps", {"ns", "owned"}, "u2", {owned_by("u1")}});
  roots.put({"configmaps", {"ns", "shared"}, "u3", {owned_by("gone"), owned_by("u1")}});
  EXPECT_THAT(at_rest(*no_orphans(), roots), IsEmpty());
  roots.put({"configmaps", {"ns", "orphan"}, "u4", {owned_by("gone")}});
  roots.put({"configmaps", {"ns", "stuck"}, "u5", {}, true});
  EXPECT_THAT(at_rest(*no_orphans(), roots), ElementsAre("configmaps ns/orphan outlives its owner the-owner",
                                                         "configmaps ns/stuck is still being deleted"));
}

TEST(NamespacesAreWholeTest, IsBrokenByObjectsOfNoNamespaceAndByNamespacesWithoutTheirOwn) {
  TestRoots roots;
  roots.put({"namespaces", {"", "team"}});
  EXPECT_THAT(at_rest(*namespaces_are_whole(), roots),
              ElementsAre("namespace team has no account", "namespace team has no authority"));
  roots.put({"serviceaccounts", {"team", "default"}});
  roots.put({"configmaps", {"team", "kube-root-ca.crt"}});
  EXPECT_THAT(at_rest(*namespaces_are_whole(), roots), IsEmpty());
  roots.put({"secrets", {"gone", "left"}});
  EXPECT_THAT(at_rest(*namespaces_are_whole(), roots),
              ElementsAre("secrets gone/left is in a namespace that does not exist"));
}

}  // namespace
}  // namespace gangway::sim
