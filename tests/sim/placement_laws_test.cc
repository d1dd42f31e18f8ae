#include "sim/placement_laws.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test_roots.h"

namespace gangway::sim {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A law of placement, a cluster that is written by hand, and what it said. Nodes have 4 cpus and 110 pods.
struct Court {
  explicit Court(std::unique_ptr<PlacementLaw> under_test) {
    std::vector<std::unique_ptr<PlacementLaw>> one;
    one.push_back(std::move(under_test));
    law = placement_laws(std::move(one), [this] { return now; });
    priority_class("high", 1000);
    node("n0");
    node("n1");
  }

  MonoTime now = MonoTime(minutes(60));
  std::unique_ptr<Law> law;
  TestRoots roots;
  Verdicts verdicts;

  void priority_class(const std::string& name, int value) {
    put({.resource = "priorityclasses.scheduling.k8s.io",
         .name = {"", name},
         .body = R"("value":)" + std::to_string(value)});
  }
  void node(const std::string& name, bool is_ready = true, bool is_cordoned = false) {
    put({.resource = "nodes",
         .name = {"", name},
         .body = std::string(R"("spec":{"unschedulable":)") + (is_cordoned ? "true" : "false") +
                 R"(},"status":{"allocatable":{"cpu":"4","pods":"110"},"conditions":[{"type":"Ready","status":")" +
                 (is_ready ? "True" : "False") + R"("}]})"});
  }
  struct Pod {
    std::string node = {};
    std::string group = {};
    int cpu = 1;
    int priority = 0;
    bool is_deleting = false;
    bool is_marked = false;
    std::string phase = "Running";
    std::string started = {};
    std::string bound = {};
    std::string late = {};  // of which late members of its group it is one
  };
  void pod(const std::string& name, const Pod& pod) {
    std::string metadata;
    const std::string late = pod.late.empty() ? "" : R"(,"gangway.dev/late-member":")" + pod.late + R"(")";
    if (!pod.group.empty())
      metadata += R"("labels":{"scheduling.x-k8s.io/pod-group":")" + pod.group + R"(")" + late + "}";
    const std::string spec = (pod.node.empty() ? "" : R"("nodeName":")" + pod.node + R"(",)") + R"("priority":)" +
                             std::to_string(pod.priority) + R"(,"containers":[{"resources":{"requests":{"cpu":")" +
                             std::to_string(pod.cpu) + R"("}}}])";
    std::string status = R"("phase":")" + (pod.node.empty() ? "Pending" : pod.phase) + R"(")";
    if (!pod.started.empty()) status += R"(,"startTime":")" + pod.started + R"(")";
    std::vector<std::string> conditions;
    if (pod.is_marked)
      conditions.emplace_back(R"({"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"})");
    if (!pod.bound.empty())
      conditions.push_back(R"({"type":"PodScheduled","status":"True","lastTransitionTime":")" + pod.bound + R"("})");
    status += fmt::format(R"(,"conditions":[{}])", fmt::join(conditions, ","));
    put({.resource = "pods",
         .name = {"ns", name},
         .deleting = pod.is_deleting,
         .metadata = metadata,
         .body = R"("spec":{)" + spec + R"(},"status":{)" + status + "}"});
  }
  void remove_pod(const std::string& name) { tell("pods", roots.erase("pods", {"ns", name})); }
  void group(const std::string& name, int minimum, const std::string& annotations = "") {
    put({.resource = "podgroups.scheduling.x-k8s.io",
         .name = {"ns", name},
         .metadata = R"("annotations":{)" + annotations + "}",
         .body = R"("spec":{"minMember":)" + std::to_string(minimum) + "}"});
  }
  struct Grant {
    std::string kind = "PodGroup";
    std::vector<std::pair<std::string, std::string>> places = {};  // pod, node
    std::vector<std::string> victims = {};
    std::vector<std::pair<std::string, int>> launchers = {};  // node, cpu: room that is held
    std::string phase = {};
    int generation = 1;
    std::string granted_at = "2026-01-01T01:00:00Z";
    std::string records = {};
  };
  void grant(const std::string& gang, const Grant& grant) {
    std::string places;
    for (const auto& [name, node] : grant.places)
      places += (places.empty() ? "" : ",") + (R"({"pod":")" + name + R"(","uid":"uid-)") + name + R"(","node":")" +
                node + R"("})";
    std::string victims;
    for (const auto& name : grant.victims)
      victims +=
          (victims.empty() ? "" : ",") + (R"({"namespace":"ns","pod":")" + name + R"(","uid":"uid-)") + name + R"("})";
    std::string holds;
    for (const auto& [node, cpu] : grant.launchers)
      holds += (holds.empty() ? "" : ",") + (R"({"name":"launcher","node":")" + node + R"(","requests":{"cpu":")") +
               std::to_string(cpu) + R"("}})";
    put({.resource = "allotments.gangway.dev",
         .name = {"ns", "of-" + gang},
         .generation = grant.generation,
         .body = R"("spec":{"gang":{"kind":")" + grant.kind + R"(","name":")" + gang + R"("},"places":[)" + places +
                 R"(],"holds":[)" + holds + R"(],"victims":[)" + victims + R"(],"grantedAt":")" + grant.granted_at +
                 R"("},"status":{"preemptedBy":[)" + grant.records + R"(],"phase":")" + grant.phase +
                 R"(","observedGeneration":)" + std::to_string(grant.phase.empty() ? 0 : grant.generation) + "}"});
  }
  std::vector<std::string> at_rest() {
    law->at_rest(*roots.root(), verdicts);
    return verdicts.all();
  }

 private:
  void put(const TestObject& object) { tell(object.resource, roots.put(object)); }
  void tell(const std::string& resource, const store::Change& change) {
    law->on_change(resource, change, *roots.root(), verdicts);
  }
};

const std::string kAnnounced =
    R"("gangway.dev/late-members":"[{\"name\":\"launcher\",\"count\":1,\"template\":{\"spec\":{\"containers\":[]}}}]")";

TEST(PromisedRoomIsKeptTest, CountsPromisesWithoutThoseWhoLeaveForThem) {
  Court court(promised_room_is_kept());
  court.pod("low", {.node = "n0", .cpu = 4});
  court.pod("high", {.cpu = 3, .priority = 10});
  court.grant("high", {.kind = "Pod", .places = {{"high", "n0"}}, .victims = {"low"}});
  court.remove_pod("low");
  court.pod("small", {.node = "n0", .cpu = 1});
  court.pod("high", {.node = "n0", .cpu = 3, .priority = 10});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

TEST(PromisedRoomIsKeptTest, IsBrokenByOneWhoTakesTheRoomThatAVictimLeft) {
  Court court(promised_room_is_kept());
  court.pod("low", {.node = "n0", .cpu = 4});
  court.pod("high", {.cpu = 3, .priority = 10});
  court.grant("high", {.kind = "Pod", .places = {{"high", "n0"}}, .victims = {"low"}});
  court.remove_pod("low");
  court.pod("thief", {.node = "n0", .cpu = 2, .priority = 10});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("n0 has 4000 of cpu, and with pod ns/thief 5000 of it are promised"));
}

TEST(PromisedRoomIsKeptTest, LetsAHigherPriorityTakeIt) {
  Court court(promised_room_is_kept());
  court.pod("middle", {.cpu = 3, .priority = 5});
  court.grant("middle", {.kind = "Pod", .places = {{"middle", "n0"}}});
  court.pod("top", {.node = "n0", .cpu = 2, .priority = 10});
  court.pod("low", {.node = "n0", .cpu = 2});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

// A grant may be long on its way. Who is of higher priority need not wait for it, but others do.
TEST(PromisedRoomIsKeptTest, KnowsGrantsThatComeTooLate) {
  for (const bool is_higher : {true, false}) {
    Court court(promised_room_is_kept());
    court.pod("late", {.cpu = 3, .priority = 5});
    court.pod("first", {.node = "n0", .cpu = 2, .priority = is_higher ? 10 : 5, .bound = "2026-01-01T01:00:01Z"});
    court.grant("late", {.kind = "Pod", .places = {{"late", "n0"}}, .granted_at = "2026-01-01T01:00:00Z"});
    EXPECT_EQ(court.verdicts.all().empty(), is_higher);
  }
  Court court(promised_room_is_kept());
  court.pod("late", {.cpu = 3, .priority = 5});
  court.pod("first", {.node = "n0", .cpu = 2, .priority = 10, .bound = "2026-01-01T00:59:59Z"});
  court.grant("late", {.kind = "Pod", .places = {{"late", "n0"}}, .granted_at = "2026-01-01T01:00:00Z"});
  EXPECT_THAT(court.verdicts.all(), ElementsAre(HasSubstr("with the grant of pod ns/late 5000 of it are promised")))
      << "it was there to be seen";
}

TEST(PromisedRoomIsKeptTest, IsBrokenByTwoGrantsOfTheSameRoom) {
  Court court(promised_room_is_kept());
  for (const auto* name : {"a", "b"}) {
    court.pod(name, {.cpu = 3});
    court.grant(name, {.kind = "Pod", .places = {{name, "n0"}}});
  }
  EXPECT_THAT(court.verdicts.all(), ElementsAre(HasSubstr("with the grant of pod ns/b 6000 of it are promised")));
}

TEST(PromisedRoomIsKeptTest, IsBrokenByOneWhoTakesTheRoomOfALateMember) {
  Court court(promised_room_is_kept());
  court.group("mpi", 1, kAnnounced);
  court.pod("worker", {.group = "mpi", .cpu = 1});
  court.grant("mpi", {.places = {{"worker", "n0"}}, .launchers = {{"n0", 2}}});
  court.pod("worker", {.node = "n0", .group = "mpi", .cpu = 1});
  court.pod("other", {.node = "n0", .cpu = 1});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
  court.pod("thief", {.node = "n0", .cpu = 1});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("n0 has 4000 of cpu, and with pod ns/thief 5000 of it are promised"));
}

TEST(PromisedRoomIsKeptTest, CountsALateMemberOnceWhenItHasCome) {
  Court court(promised_room_is_kept());
  court.group("mpi", 1, kAnnounced);
  court.pod("worker", {.group = "mpi", .cpu = 1});
  court.grant("mpi", {.places = {{"worker", "n0"}}, .launchers = {{"n0", 2}}});
  court.pod("worker", {.node = "n0", .group = "mpi", .cpu = 1});
  court.pod("launcher", {.group = "mpi", .cpu = 2, .late = "launcher"});
  court.pod("launcher", {.node = "n0", .group = "mpi", .cpu = 2, .late = "launcher"});
  court.pod("other", {.node = "n0", .cpu = 1});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

TEST(PromisedRoomIsKeptTest, KnowsThatNobodyComesWhenTheGroupIsGone) {
  Court court(promised_room_is_kept());
  court.pod("worker", {.group = "mpi", .cpu = 1});
  court.grant("mpi", {.places = {{"worker", "n0"}}, .launchers = {{"n0", 2}}});
  court.pod("other", {.node = "n0", .cpu = 3});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

TEST(VictimsGoFirstTest, IsBrokenByABindingBesideAVictim) {
  Court court(victims_go_first());
  court.pod("low", {.node = "n0"});
  court.pod("high", {.priority = 10});
  court.grant("high", {.kind = "Pod", .places = {{"high", "n0"}}, .victims = {"low"}});
  court.pod("other", {.node = "n0"});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
  court.pod("low", {.node = "n0", .is_deleting = true});
  court.pod("high", {.node = "n0", .priority = 10});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("pod ns/high is bound before pod ns/low has gone"));
}

TEST(VictimsGoFirstTest, HoldsForOneThatGoesElsewhere) {
  Court court(victims_go_first());
  court.pod("low", {.node = "n0"});
  court.pod("high", {.priority = 10});
  court.grant("high", {.kind = "Pod", .places = {{"high", "n0"}}, .victims = {"low"}});
  court.pod("high", {.node = "n1", .priority = 10});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
}

TEST(GangsStartWholeTest, IsBrokenByAStartWithoutRoomForWhoComesLater) {
  Court court(gangs_start_whole());
  court.group("mpi", 1, kAnnounced);
  court.pod("worker", {.group = "mpi"});
  court.grant("mpi", {.places = {{"worker", "n0"}}});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("group ns/mpi is granted no room for its launcher"));
}

TEST(GangsStartWholeTest, DoesNotCountWhoComesLater) {
  Court court(gangs_start_whole());
  court.group("mpi", 2, kAnnounced);
  court.pod("worker", {.group = "mpi"});
  court.pod("launcher", {.group = "mpi", .late = "launcher"});
  court.grant("mpi", {.places = {{"worker", "n0"}, {"launcher", "n0"}}});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("group ns/mpi is granted 1 of the 2 that it needs"));
}

TEST(GangsStartWholeTest, HoldsForGrantsAndForWhatRunsAlready) {
  Court court(gangs_start_whole());
  court.group("g", 2);
  for (const auto* name : {"a", "b", "c"}) court.pod(name, {.group = "g"});
  court.grant("g", {.places = {{"a", "n0"}, {"b", "n1"}}});
  court.pod("a", {.node = "n0", .group = "g"});
  court.pod("b", {.node = "n1", .group = "g"});
  court.pod("c", {.node = "n1", .group = "g"});
  EXPECT_THAT(court.verdicts.all(), IsEmpty()) << "the third is more than it needs";
  court.remove_pod("a");
  court.remove_pod("b");
  court.now += minutes(1);
  court.pod("d", {.node = "n1", .group = "g"});
  EXPECT_THAT(court.verdicts.all(), IsEmpty()) << "that they are gone may not be known yet";
}

TEST(GangsStartWholeTest, IsBrokenByOneThatIsBoundAlone) {
  Court court(gangs_start_whole());
  court.group("g", 2);
  court.pod("a", {.group = "g"});
  court.pod("a", {.node = "n0", .group = "g"});
  EXPECT_THAT(
      court.verdicts.all(),
      ElementsAre("pod ns/a is bound, which makes 1 of the 2 that group ns/g needs, and no grant has the rest"));
}

TEST(GangsStartWholeTest, IsBrokenByAGrantThatIsOneShort) {
  Court court(gangs_start_whole());
  court.group("g", 3);
  for (const auto* name : {"a", "b", "c"}) court.pod(name, {.group = "g"});
  court.grant("g", {.places = {{"a", "n0"}, {"b", "n1"}}});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("group ns/g is granted 2 of the 3 that it needs"));
}

TEST(GangsStartWholeTest, IsBrokenByAHalfThatWasLostLongAgo) {
  Court court(gangs_start_whole());
  court.group("g", 2);
  court.pod("a", {.node = "n0", .group = "g"});
  court.verdicts = {};
  court.remove_pod("a");
  court.now += kLongestLag + minutes(1);
  court.pod("b", {.node = "n0", .group = "g"});
  EXPECT_THAT(court.verdicts.all(), ElementsAre(HasSubstr("makes 1 of the 2")));
}

TEST(GrantsComeToAnEndTest, IsBrokenByAGrantThatIsLeftOpen) {
  Court court(grants_come_to_an_end());
  court.grant("done", {.phase = "Bound"});
  court.grant("back", {.phase = "Withdrawn"});
  EXPECT_THAT(court.at_rest(), IsEmpty());
  court.grant("open", {.phase = "Releasing"});
  EXPECT_THAT(court.at_rest(), ElementsAre("the grant of group ns/open is neither done nor taken back"));
}

TEST(NobodyWaitsForNothingTest, KnowsWhoIsFirstInLine) {
  Court court(nobody_waits_for_nothing());
  court.pod("fits", {.cpu = 2});
  court.pod("first", {.cpu = 8});
  EXPECT_THAT(court.at_rest(), IsEmpty()) << "room may be kept for the first";
  court.remove_pod("first");
  EXPECT_THAT(court.at_rest(), ElementsAre("pod ns/fits waits, though there is room and nobody is before it"));
}

TEST(NobodyWaitsForNothingTest, CountsAGangWholeAndOpenNodesOnly) {
  Court court(nobody_waits_for_nothing());
  court.group("g", 3);
  for (const auto* name : {"a", "b"}) court.pod(name, {.group = "g", .cpu = 3});
  EXPECT_THAT(court.at_rest(), IsEmpty()) << "it is not complete";
  court.pod("c", {.group = "g", .cpu = 3});
  EXPECT_THAT(court.at_rest(), IsEmpty()) << "two fit";
  court.node("n2", true, true);
  EXPECT_THAT(court.at_rest(), IsEmpty()) << "cordoned";
  court.node("n2");
  EXPECT_THAT(court.at_rest(), ElementsAre(HasSubstr("group ns/g waits")));
}

TEST(PreemptorsOutrankTest, IsBrokenByAnEqual) {
  Court court(preemptors_outrank());
  court.pod("equal", {.node = "n0", .priority = 10});
  court.pod("lower", {.node = "n0", .priority = 9});
  court.pod("ends", {.node = "n0", .priority = 99, .is_deleting = true});
  court.pod("high", {.priority = 10});
  court.grant("high", {.kind = "Pod", .places = {{"high", "n0"}}, .victims = {"lower", "ends"}});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
  court.grant("high", {.kind = "Pod", .places = {{"high", "n0"}}, .victims = {"equal"}, .generation = 2});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("pod ns/equal (priority 10) is to go for pod ns/high (priority 10)"));
}

TEST(ProtectedAreLeftAloneTest, IsBrokenInTheFirstMinutes) {
  Court court(protected_are_left_alone());
  court.group("g", 1, R"("gangway.dev/min-runtime":"5m")");
  court.pod("v", {.node = "n0", .group = "g", .started = "2026-01-01T00:55:02Z"});
  court.pod("high", {.priority = 10});
  court.grant("high", {.kind = "Pod", .places = {{"high", "n0"}}, .victims = {"v"}});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("pod ns/v is to go for pod ns/high in its first minutes"));
}

TEST(ProtectedAreLeftAloneTest, LetsTheTopClassAndTheRestOfTheTimePass) {
  for (const auto& [priority, started] : {std::pair{1000, "2026-01-01T00:59:00Z"}, {10, "2026-01-01T00:55:00Z"}}) {
    Court court(protected_are_left_alone());
    court.group("g", 1, R"("gangway.dev/min-runtime":"5m")");
    court.pod("v", {.node = "n0", .group = "g", .started = started});
    court.pod("high", {.priority = priority});
    court.grant("high", {.kind = "Pod", .places = {{"high", "n0"}}, .victims = {"v"}});
    EXPECT_THAT(court.verdicts.all(), IsEmpty()) << priority;
  }
}

TEST(ProtectedAreLeftAloneTest, IsBrokenByOneTooManyInAnHour) {
  const auto record = [](const std::string& at, int grant) {
    return R"({"at":")" + at + R"(","grant":"ns/of-x )" + std::to_string(grant) + R"("})";
  };
  // Six are borne, and five were in the last hour; then one more.
  std::string records = record("2026-01-01T00:00:00Z", 1);
  for (int i = 2; i <= 6; ++i) records += "," + record("2026-01-01T00:30:00Z", i);
  for (const bool is_one_more : {false, true}) {
    Court court(protected_are_left_alone());
    court.group("g", 1, R"("gangway.dev/max-preemptions":"6")");
    court.pod("v", {.node = "n0", .group = "g", .started = "2026-01-01T00:35:00Z"});
    court.grant("g",
                {.phase = "Bound", .records = records + (is_one_more ? "," + record("2026-01-01T00:31:00Z", 7) : "")});
    court.pod("high", {.priority = 10});
    court.grant("high", {.kind = "Pod", .places = {{"high", "n0"}}, .victims = {"v"}});
    if (is_one_more) {
      EXPECT_THAT(court.verdicts.all(), ElementsAre("pod ns/v is to go for pod ns/high, after 6 times in an hour"));
    } else {
      EXPECT_THAT(court.verdicts.all(), IsEmpty());
    }
  }
}

TEST(EvictionsAreGrantedTest, IsBrokenByAMarkWithoutAGrant) {
  Court court(evictions_are_granted());
  court.pod("high", {.priority = 10});
  for (const auto* name : {"named", "unnamed"}) court.pod(name, {.node = "n0"});
  court.grant("high", {.kind = "Pod", .places = {{"high", "n0"}}, .victims = {"named"}});
  court.pod("named", {.node = "n0", .is_marked = true});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
  court.pod("unnamed", {.node = "n0", .is_marked = true});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("pod ns/unnamed is marked as a victim, and no grant names it"));
}

// A gang of two whose grant has had its victim evicted.
struct BegunTest : ::testing::Test {
  Court court{what_is_begun_is_finished()};
  const Court::Grant grant{.places = {{"a", "n0"}, {"b", "n1"}}, .victims = {"v"}};

  void SetUp() override {
    court.group("g", 2);
    court.pod("v", {.node = "n0"});
    for (const auto* name : {"a", "b"}) court.pod(name, {.group = "g", .priority = 10});
    court.grant("g", grant);
    court.pod("v", {.node = "n0", .is_deleting = true, .is_marked = true});
    court.remove_pod("v");
  }
  void withdraw() {
    auto taken_back = grant;
    taken_back.phase = "Withdrawn";
    court.grant("g", taken_back);
  }
};

TEST_F(BegunTest, IsBrokenByAGrantThatIsTakenBack) {
  withdraw();
  EXPECT_THAT(court.at_rest(), ElementsAre(HasSubstr("evicted or bound for group ns/g, which was then not given all")));
}

TEST_F(BegunTest, IsBrokenByAHalfThatIsBound) {
  court.pod("a", {.node = "n0", .group = "g", .priority = 10});
  withdraw();
  EXPECT_THAT(court.at_rest(), ElementsAre(HasSubstr("which was then not given all")));
}

TEST_F(BegunTest, HoldsForOneThatIsBound) {
  court.pod("a", {.node = "n0", .group = "g", .priority = 10});
  court.pod("b", {.node = "n1", .group = "g", .priority = 10});
  withdraw();
  EXPECT_THAT(court.at_rest(), IsEmpty());
}

TEST_F(BegunTest, ALostNodeExcusesIt) {
  court.node("n1", false);
  withdraw();
  EXPECT_THAT(court.at_rest(), IsEmpty());
}

TEST_F(BegunTest, SomebodyOfHigherPriorityExcusesIt) {
  withdraw();
  court.pod("equal", {.node = "n0", .priority = 10});
  court.pod("elsewhere", {.node = "n2", .priority = 11});
  EXPECT_THAT(court.at_rest(), Not(IsEmpty()));
  court.verdicts = {};
  court.pod("higher", {.node = "n0", .priority = 11});
  EXPECT_THAT(court.at_rest(), IsEmpty());
}

TEST_F(BegunTest, ALostMemberExcusesIt) {
  court.remove_pod("b");
  withdraw();
  EXPECT_THAT(court.at_rest(), IsEmpty());
}

TEST(PreemptionHasNoCyclesTest, IsBrokenByOneWhoEvictsItsPreemptor) {
  Court court(preemption_has_no_cycles());
  for (const auto* name : {"a", "b", "c"}) {
    court.pod(std::string(name) + "-0", {.node = "n0", .group = name});
    court.pod(std::string(name) + "-1", {.group = name});
  }
  court.grant("a", {.places = {{"a-1", "n0"}}, .victims = {"b-0"}});
  court.grant("b", {.places = {{"b-1", "n0"}}, .victims = {"c-0"}});
  EXPECT_THAT(court.verdicts.all(), IsEmpty());
  court.grant("c", {.places = {{"c-1", "n0"}}, .victims = {"a-0"}});
  EXPECT_THAT(court.verdicts.all(), ElementsAre("group ns/c evicts group ns/a, by which it was evicted itself"));
}

}  // namespace
}  // namespace gangway::sim
