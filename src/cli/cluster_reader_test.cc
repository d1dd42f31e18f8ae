#include "cli/cluster_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/resource.h"
#include "testing/builders.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::cli {
namespace {

using client::resources::kNodes;
using client::resources::kPods;

const client::Resource kPodGroups{"scheduling.x-k8s.io", "v1alpha1", "podgroups"};

struct ClusterReaderTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  int answers = 0;

  ClusterReaderTest() {
    api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"});
    api.create(kNodes, testing::an_object("v1", "Node", "", "n0"));
    api.create(kPods, testing::a_pod("a", "one").with(R"({"spec":{"nodeName":"n0"}})"));
    api.create(kPods, testing::a_pod("b", "two"));
  }

  Result<std::shared_ptr<ListedObjects>> read() {
    Reading pods{.indexed_fields = {"spec.nodeName"}};
    Reading nodes;
    Reading groups;
    pods.what.resource = kPods;
    nodes.what.resource = kNodes;
    groups.what.resource = kPodGroups;
    Result<std::shared_ptr<ListedObjects>> result = internal_error("no answer");
    read_cluster(api, {pods, nodes, groups}, [&](auto answer) {
      ++answers;
      result = std::move(answer);
    });
    loop.run_until_idle();
    return result;
  }
};

TEST_F(ClusterReaderTest, GivesAViewOfAllNamespacesWithTheIndexesAskedFor) {
  const auto objects = read();
  ASSERT_TRUE(objects);
  const client::View view(**objects, WallTime());
  EXPECT_EQ(view.objects(kPods).size(), 2u);
  EXPECT_TRUE(view.get(kNodes, {"", "n0"}));
  const auto on_node = view.objects(kPods).with_field("spec.nodeName", "n0");
  ASSERT_EQ(on_node.size(), 1u);
  EXPECT_EQ(on_node[0].header->name.name, "one");
}

TEST_F(ClusterReaderTest, KindsThatTheServerDoesNotServeHaveNoObjects) {
  api.fail_lists(kPodGroups, testing::an_error(Reason::kNotFound));
  const auto objects = read();
  ASSERT_TRUE(objects);
  EXPECT_EQ(client::View(**objects, WallTime()).objects(kPodGroups).size(), 0u);
}

TEST_F(ClusterReaderTest, MissingRightsAreNamedTogether) {
  api.fail_lists(kNodes, testing::an_error(Reason::kForbidden));
  api.fail_lists(kPodGroups, testing::an_error(Reason::kForbidden));
  const auto objects = read();
  ASSERT_FALSE(objects);
  EXPECT_EQ(objects.error().reason, Reason::kForbidden);
  EXPECT_THAT(objects.error().message,
              ::testing::StartsWith("you may not list nodes, podgroups.scheduling.x-k8s.io in all namespaces"));
}

TEST_F(ClusterReaderTest, AnyOtherFailureIsOneErrorForTheWhole) {
  api.fail_lists(kNodes, testing::an_error(Reason::kServiceUnavailable));
  const auto objects = read();
  ASSERT_FALSE(objects);
  EXPECT_EQ(objects.error().reason, Reason::kServiceUnavailable);
  EXPECT_THAT(objects.error().message, ::testing::StartsWith("nodes: "));
  EXPECT_EQ(answers, 1);
}

}  // namespace
}  // namespace gangway::cli
