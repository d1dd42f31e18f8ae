#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/laws.h"
#include "sim/test_roots.h"

namespace gangway::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A law, the roots it sees, and what it said.
struct Court {
  explicit Court(std::unique_ptr<Law> under_test) : law(std::move(under_test)) {}

  std::unique_ptr<Law> law;
  TestRoots roots;
  Verdicts verdicts;

  void node(const std::string& allocatable) {
    tell("nodes",
         roots.put(
             {.resource = "nodes", .name = {"", "n0"}, .body = R"("status":{"allocatable":{)" + allocatable + "}}"}));
  }
  void pod(const std::string& name, const std::string& spec, const std::string& status) {
    tell("pods", roots.put({.resource = "pods",
                            .name = {"ns", name},
                            .body = R"("spec":{)" + spec + R"(},"status":{)" + status + "}"}));
  }
  void remove_pod(const std::string& name) { tell("pods", roots.erase("pods", {"ns", name})); }
  void tell(const std::string& resource, const store::Change& change) {
    law->on_change(resource, change, *roots.root(), verdicts);
  }
};

std::string on_n0(const std::string& requests) {
  return R"("nodeName":"n0","containers":[{"resources":{"requests":{)" + requests + "}}}]";
}

TEST(NodesHaveRoomTest, CountsWhatRunsAndFreesWhatHasEnded) {
  Court court(nodes_have_room());
  court.node(R"("cpu":"4","memory":"8Gi","nvidia.com/gpu":"2","pods":"3")");
  court.pod("a", on_n0(R"("cpu":"2","nvidia.com/gpu":"2")"), R"("phase":"Running")");
  court.pod("b", on_n0(R"("cpu":"1500m")"), R"("phase":"Pending")");
  court.pod("a", on_n0(R"("cpu":"2","nvidia.com/gpu":"2")"), R"("phase":"Succeeded")");
  court.pod("c", on_n0(R"("cpu":"2500m","nvidia.com/gpu":"1")"), R"("phase":"Running")");
  court.remove_pod("c");
  court.pod("d", on_n0(R"("cpu":"2500m","nvidia.com/gpu":"2")"), R"("phase":"Running")");
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

TEST(NodesHaveRoomTest, IsBrokenByEveryResource) {
  struct Case {
    const char* resource;
    const char* requests;
  };
  for (const Case& c : {Case{"cpu", R"("cpu":"2100m")"}, Case{"memory", R"("memory":"5Gi")"},
                        Case{"nvidia.com/gpu", R"("nvidia.com/gpu":"1")"}}) {
    Court court(nodes_have_room());
    court.node(R"("cpu":"4","memory":"8Gi","nvidia.com/gpu":"2","pods":"3")");
    court.pod("a", on_n0(R"("cpu":"2","memory":"4Gi","nvidia.com/gpu":"2")"), R"("phase":"Running")");
    EXPECT_THAT(court.verdicts.all(), IsEmpty());
    court.pod("b", on_n0(c.requests), R"("phase":"Pending")");
    EXPECT_THAT(court.verdicts.all(), ElementsAre(HasSubstr(std::string(" of ") + c.resource)));
  }
}

TEST(NodesHaveRoomTest, IsBrokenByTooManyPods) {
  Court court(nodes_have_room());
  court.node(R"("pods":"2")");
  for (const auto* name : {"a", "b"}) court.pod(name, on_n0(""), R"("phase":"Running")");
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
  court.pod("c", on_n0(""), R"("phase":"Running")");
  EXPECT_THAT(court.verdicts.all(), ElementsAre(HasSubstr(" of pods")));
}

TEST(PodsOnlyGoForwardTest, HoldsForALife) {
  Court court(pods_only_go_forward());
  court.pod("a", "", R"("phase":"Pending")");
  court.pod("a", R"("nodeName":"n0")", R"("phase":"Pending")");
  court.pod("a", R"("nodeName":"n0")", R"("phase":"Running","containerStatuses":[{"name":"c","restartCount":1}])");
  court.pod("a", R"("nodeName":"n0")", R"("phase":"Failed","containerStatuses":[{"name":"c","restartCount":2}])");
  court.pod("a", R"("nodeName":"n0")", R"("phase":"Failed","message":"more")");
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

TEST(PodsOnlyGoForwardTest, IsBrokenByEveryStepBack) {
  struct Case {
    const char* before;
    const char* now;
    const char* broken;
  };
  const Case cases[] = {
      {R"("phase":"Succeeded")", R"("phase":"Running")", "went from Succeeded to Running"},
      {R"("phase":"Failed")", R"("phase":"Succeeded")", "went from Failed to Succeeded"},
      {R"("phase":"Running")", R"("phase":"Pending")", "went from Running to Pending"},
      {R"("containerStatuses":[{"name":"c","restartCount":2}])",
       R"("containerStatuses":[{"name":"c","restartCount":1}])", "forgot restarts of c: 2, then 1"},
  };
  for (const Case& c : cases) {
    Court court(pods_only_go_forward());
    court.pod("a", "", c.before);
    court.pod("a", "", c.now);
    EXPECT_THAT(court.verdicts.all(), ElementsAre(HasSubstr(c.broken)));
  }
  Court court(pods_only_go_forward());
  court.pod("a", R"("nodeName":"n0")", "");
  court.pod("a", R"("nodeName":"n1")", "");
  EXPECT_THAT(court.verdicts.all(), ElementsAre("pod ns/a was moved from n0"));
}

TEST(WhatWaitsKnowsWhyTest, IsBrokenByAPodThatOnlyWaits) {
  Court court(what_waits_knows_why());
  court.pod("told", "",
            R"("phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","message":"0/1 nodes"}])");
  court.pod("pulls", "", R"("phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ErrImagePull"}}}])");
  court.pod("runs", "", R"("phase":"Running")");
  court.law->at_rest(*court.roots.root(), court.verdicts);
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
  court.pod("lost", "", R"("phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}])");
  court.law->at_rest(*court.roots.root(), court.verdicts);
  EXPECT_THAT(court.verdicts.all(), ElementsAre("pod ns/lost is Pending and nobody says why"));
}

}  // namespace
}  // namespace gangway::sim
