#include "api/convert/kueue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace gangway::api {
namespace {

using json::Array;
using json::Object;
using json::Value;

Value json_of(std::string_view text) {
  return json::parse(text).value();
}

Value converted(Value object, const VersionPair& pair, std::string_view to) {
  convert(object, pair, to);
  return object;
}

Value up(const Value& object, const VersionPair& pair) {
  return converted(object, pair, pair.newer);
}

Value down(const Value& object, const VersionPair& pair) {
  return converted(object, pair, pair.older);
}

std::string annotation(std::string_view version) {
  return std::string(kOnlyInAnnotation).append(version);
}

struct Case {
  const char* name;
  const VersionPair& pair;
  const char* older;
  const char* newer;
};

// What both versions can say is the same both ways, and leaves no annotation behind.
TEST(KueueVersions, SayTheSameInOtherWords) {
  const Case cases[] = {
      {"a queue without anything", cluster_queue_versions(), R"({"spec":{}})", R"({"spec":{}})"},
      {"cohort", cluster_queue_versions(), R"({"spec":{"cohort":"all"}})", R"({"spec":{"cohortName":"all"}})"},
      {"fungibility", cluster_queue_versions(),
       R"({"spec":{"flavorFungibility":{"whenCanBorrow":"TryNextFlavor","whenCanPreempt":"MayStopSearch"}}})",
       R"({"spec":{"flavorFungibility":{"whenCanBorrow":"TryNextFlavor","whenCanPreempt":"MayStopSearch"}}})"},
      {"strategy of checks", cluster_queue_versions(),
       R"({"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"a","onFlavors":["f"]}]}}})",
       R"({"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"a","onFlavors":["f"]}]}}})"},
      {"usage", local_queue_versions(), R"({"spec":{"clusterQueue":"q"},"status":{"flavorUsage":[{"name":"f"}]}})",
       R"({"spec":{"clusterQueue":"q"},"status":{"flavorsUsage":[{"name":"f"}]}})"},
      {"workload class", workload_versions(),
       R"({"spec":{"priorityClassName":"high","priorityClassSource":"kueue.x-k8s.io/workloadpriorityclass"}})",
       R"({"spec":{"priorityClassRef":{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"high"}}})"},
      {"pod class", workload_versions(),
       R"({"spec":{"priorityClassName":"high","priorityClassSource":"scheduling.k8s.io/priorityclass"}})",
       R"({"spec":{"priorityClassRef":{"group":"scheduling.k8s.io","kind":"PriorityClass","name":"high"}}})"},
      {"time", workload_versions(), R"({"status":{"accumulatedPastExexcutionTimeSeconds":7}})",
       R"({"status":{"accumulatedPastExecutionTimeSeconds":7}})"},
      {"domains with nothing in common", workload_versions(),
       R"({"status":{"admission":{"podSetAssignments":[{"name":"main","topologyAssignment":{
           "levels":["rack"],"domains":[{"values":["a"],"count":1},{"values":["b"],"count":2}]}}]}}})",
       R"({"status":{"admission":{"podSetAssignments":[{"name":"main","topologyAssignment":{
           "levels":["rack"],"slices":[{"domainCount":2,"valuesPerLevel":[{"individual":{"roots":["a","b"]}}],
                                        "podCounts":{"individual":[1,2]}}]}}]}}})"},
      {"domains that share their block, a prefix and their count", workload_versions(),
       R"({"status":{"admission":{"podSetAssignments":[{"name":"main","topologyAssignment":{
           "levels":["block","rack"],"domains":[{"values":["b1","rack-1-x"],"count":4},
                                                {"values":["b1","rack-22-x"],"count":4}]}}]}}})",
       R"({"status":{"admission":{"podSetAssignments":[{"name":"main","topologyAssignment":{
           "levels":["block","rack"],"slices":[{"domainCount":2,"valuesPerLevel":[
               {"universal":"b1"},{"individual":{"prefix":"rack-","suffix":"-x","roots":["1","22"]}}],
               "podCounts":{"universal":4}}]}}]}}})"},
      {"no domains", workload_versions(),
       R"({"status":{"admission":{"podSetAssignments":[{"topologyAssignment":{"levels":["rack"],"domains":[]}}]}}})",
       R"({"status":{"admission":{"podSetAssignments":[{"topologyAssignment":{"levels":["rack"],"slices":[]}}]}}})"},
  };
  for (const auto& each : cases) {
    EXPECT_TRUE(json::equal(up(json_of(each.older), each.pair), json_of(each.newer)))
        << each.name << ": " << json::serialize(up(json_of(each.older), each.pair));
    EXPECT_TRUE(json::equal(down(json_of(each.newer), each.pair), json_of(each.older)))
        << each.name << ": " << json::serialize(down(json_of(each.newer), each.pair));
  }
}

TEST(KueueVersions, RememberWhatOnlyTheOlderOneSays) {
  const auto written = json_of(R"({"metadata":{"name":"q","annotations":{"mine":"1"}},"spec":{"cohort":"c",
      "admissionChecks":["a","b"],
      "flavorFungibility":{"whenCanBorrow":"Borrow","whenCanPreempt":"Preempt"}}})");
  const auto stored = up(written, cluster_queue_versions());
  EXPECT_TRUE(json::equal(stored.at("spec"), json_of(R"({"cohortName":"c",
      "admissionChecksStrategy":{"admissionChecks":[{"name":"a"},{"name":"b"}]},
      "flavorFungibility":{"whenCanBorrow":"MayStopSearch","whenCanPreempt":"MayStopSearch"}})")))
      << json::serialize(stored);
  EXPECT_TRUE(json::equal(json_of(json::string_at(stored, {"metadata", "annotations", annotation("v1beta1")})),
                          json_of(R"([{"op":"remove","path":"/spec/admissionChecksStrategy"},
      {"op":"add","path":"/spec/admissionChecks","value":["a","b"]},
      {"op":"replace","path":"/spec/flavorFungibility/whenCanBorrow","value":"Borrow"},
      {"op":"replace","path":"/spec/flavorFungibility/whenCanPreempt","value":"Preempt"}])")))
      << json::serialize(stored);
  EXPECT_TRUE(json::equal(down(stored, cluster_queue_versions()), written));
}

// A change in the newer version wins over what the older one remembered, place by place.
TEST(KueueVersions, ForgetWhatDoesNotHoldAnyMore) {
  auto stored = up(json_of(R"({"metadata":{"name":"q"},"spec":{"admissionChecks":["a"],
      "flavorFungibility":{"whenCanBorrow":"Borrow","whenCanPreempt":"TryNextFlavor"}}})"),
                   cluster_queue_versions());
  stored.at("spec").at("flavorFungibility").as_object()["whenCanBorrow"] = "TryNextFlavor";
  EXPECT_TRUE(json::equal(down(stored, cluster_queue_versions()),
                          json_of(R"({"metadata":{"name":"q"},"spec":{"admissionChecks":["a"],
      "flavorFungibility":{"whenCanBorrow":"TryNextFlavor","whenCanPreempt":"TryNextFlavor"}}})")))
      << json::serialize(down(stored, cluster_queue_versions()));

  auto more_checks =
      up(json_of(R"({"metadata":{"name":"q"},"spec":{"admissionChecks":["a"]}})"), cluster_queue_versions());
  more_checks.at("spec").as_object()["admissionChecksStrategy"] =
      json_of(R"({"admissionChecks":[{"name":"a","onFlavors":["f"]}]})");
  EXPECT_TRUE(json::equal(down(more_checks, cluster_queue_versions()),
                          json_of(R"({"metadata":{"name":"q"},"spec":{"admissionChecksStrategy":
      {"admissionChecks":[{"name":"a","onFlavors":["f"]}]}}})")));
}

constexpr const char* kConstrained = R"({"metadata":{"name":"w"},"spec":{"podSets":[{"name":"main","count":8,
    "topologyRequest":{"required":"block",
      "podsetSliceRequiredTopologyConstraints":[{"topology":"rack","size":4},{"topology":"host","size":2}]}}]}})";

TEST(KueueVersions, RememberWhatOnlyTheNewerOneSays) {
  const auto stored = json_of(kConstrained);
  auto shown = down(stored, workload_versions());
  EXPECT_TRUE(
      json::equal(shown.at("spec").at("podSets").at(0).at("topologyRequest"), json_of(R"({"required":"block"})")));
  EXPECT_TRUE(json::equal(up(shown, workload_versions()), stored));
  // Somebody who only knows the older version changes something else.
  shown.at("spec").at("podSets").at(0).as_object()["count"] = 4;
  auto expected = stored;
  expected.at("spec").at("podSets").at(0).as_object()["count"] = 4;
  EXPECT_TRUE(json::equal(up(shown, workload_versions()), expected));
}

TEST(KueueVersions, SlicesThatCouldBeSaidInFewerWordsStay) {
  const auto stored =
      json_of(R"({"metadata":{"name":"w"},"status":{"admission":{"podSetAssignments":[{"topologyAssignment":{
      "levels":["host"],"slices":[
        {"domainCount":1,"valuesPerLevel":[{"individual":{"roots":["n1"]}}],"podCounts":{"individual":[1]}},
        {"domainCount":2,"valuesPerLevel":[{"individual":{"prefix":"n","roots":["2","3"]}}],
         "podCounts":{"universal":1}}]}}]}}})");
  const auto shown = down(stored, workload_versions());
  EXPECT_TRUE(json::equal(shown.at("status").at("admission").at("podSetAssignments").at(0).at("topologyAssignment"),
                          json_of(R"({"levels":["host"],"domains":[{"values":["n1"],"count":1},
                                      {"values":["n2"],"count":1},{"values":["n3"],"count":1}]})")));
  EXPECT_TRUE(json::equal(up(shown, workload_versions()), stored));
}

// A patch is text that anybody may write into an annotation.
TEST(KueueVersions, AnnotationsReachNothingButContent) {
  for (const char* patch :
       {"no JSON", "{}", R"([{"op":"replace","path":"/metadata/name","value":"other"}])",
        R"([{"op":"add","path":"/metadata/annotations","value":{}}])", R"([{"op":"replace","path":"","value":{}}])",
        R"([{"op":"move","path":"/spec/cohortName","from":"/metadata/name"}])",
        R"([{"op":"replace","path":"/spec/cohortName","value":"other"}])", R"([{"op":"add","path":"/spec/new"}])",
        "[7]"}) {
    Value queue = Object{{"metadata", Object{{"name", "q"}, {"annotations", Object{{annotation("v1beta2"), patch}}}}},
                         {"spec", Object{{"cohort", "c"}}}};
    EXPECT_TRUE(json::equal(up(queue, cluster_queue_versions()),
                            json_of(R"({"metadata":{"name":"q"},"spec":{"cohortName":"c"}})")))
        << patch << ": " << json::serialize(up(queue, cluster_queue_versions()));
  }
}

TEST(KueueVersions, TakeWhatFitsNoSchemaAsFarAsItDoes) {
  for (const auto* pair : {&cluster_queue_versions(), &local_queue_versions(), &workload_versions()}) {
    for (const char* text :
         {"null", "7", R"({"spec":7,"status":[]})", R"({"metadata":7,"spec":{"cohort":{},"admissionChecks":7}})",
          R"({"metadata":{"annotations":7},"spec":{"podSets":[7,{"topologyRequest":7}],"priorityClassRef":7}})",
          R"({"status":{"admission":{"podSetAssignments":[{"topologyAssignment":{"levels":7,"slices":[
              {"domainCount":-1},{"domainCount":2147483647,"valuesPerLevel":[7],"podCounts":7}]}}]}}})"}) {
      auto older = json_of(text), newer = json_of(text);
      convert(older, *pair, pair->newer);
      convert(newer, *pair, pair->older);
    }
  }
}

// ── generated objects ──

template <class T>
T one_of(const std::vector<T>& choices) {
  return *rc::gen::elementOf(choices);
}

bool flip() {
  return *rc::gen::arbitrary<bool>();
}

Value metadata() {
  Object made{{"name", "x"}};
  if (flip()) made["annotations"] = Object{{"a", "b"}};
  return made;
}

Value fungibility(bool is_older) {
  Object made;
  std::vector<std::string> borrow{"MayStopSearch", "TryNextFlavor"}, preempt = borrow;
  if (is_older) {
    borrow.emplace_back("Borrow");
    preempt.emplace_back("Preempt");
  }
  if (flip()) made["whenCanBorrow"] = one_of(borrow);
  if (flip()) made["whenCanPreempt"] = one_of(preempt);
  if (flip()) made["preference"] = "PreemptionOverBorrowing";
  return made;
}

Value cluster_queue(bool is_older) {
  Object spec;
  if (flip()) spec[is_older ? "cohort" : "cohortName"] = one_of<std::string>({"", "c"});
  if (flip()) spec["flavorFungibility"] = fungibility(is_older);
  if (is_older && flip()) {
    Array names;
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) names.emplace_back("check" + std::to_string(i));
    spec["admissionChecks"] = std::move(names);
  }
  if (flip()) spec["admissionChecksStrategy"] = json_of(R"({"admissionChecks":[{"name":"a","onFlavors":["f"]}]})");
  if (flip()) spec["stopPolicy"] = "Hold";
  return Object{{"metadata", metadata()}, {"spec", std::move(spec)}, {"status", Object{{"pendingWorkloads", 3}}}};
}

Value domains() {
  Array list;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    Array values;
    for (int level = 0; level < 2; ++level)
      values.emplace_back(one_of<std::string>({"", "a", "ab", "rack-1", "rack-12", "é", "è"}));
    list.push_back(Object{{"values", std::move(values)}, {"count", *rc::gen::inRange(1, 3)}});
  }
  return Object{{"levels", Array{"block", "rack"}}, {"domains", std::move(list)}};
}

Value slice() {
  const int size = *rc::gen::inRange(1, 4);
  const auto list = [&](auto make) {
    Array made;
    for (int i = 0; i < size; ++i) made.emplace_back(make());
    return made;
  };
  Array levels;
  for (int level = 0; level < 2; ++level) {
    if (flip()) {
      levels.push_back(Object{{"universal", one_of<std::string>({"", "u"})}});
      continue;
    }
    Object individual{{"roots", list([] { return one_of<std::string>({"", "x", "y"}); })}};
    if (flip()) individual["prefix"] = one_of<std::string>({"", "p"});
    levels.push_back(Object{{"individual", std::move(individual)}});
  }
  Object counts;
  if (flip()) {
    counts["universal"] = 2;
  } else {
    counts["individual"] = list([] { return *rc::gen::inRange(1, 3); });
  }
  return Object{{"domainCount", size}, {"valuesPerLevel", std::move(levels)}, {"podCounts", std::move(counts)}};
}

Value slices() {
  Array list;
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) list.push_back(slice());
  return Object{{"levels", Array{"block", "rack"}}, {"slices", std::move(list)}};
}

void add_class(Object& spec, bool is_older) {
  if (is_older) {
    if (flip()) spec["priorityClassName"] = "high";
    if (flip())
      spec["priorityClassSource"] =
          one_of<std::string>({"", "kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass"});
  } else if (flip()) {
    const bool is_own = flip();
    spec["priorityClassRef"] = Object{{"group", is_own ? "kueue.x-k8s.io" : "scheduling.k8s.io"},
                                      {"kind", is_own ? "WorkloadPriorityClass" : "PriorityClass"},
                                      {"name", "high"}};
  }
}

Value workload(bool is_older) {
  Object spec;
  add_class(spec, is_older);
  Object request{{"required", "block"}};
  if (!is_older && flip())
    request["podsetSliceRequiredTopologyConstraints"] = json_of(R"([{"topology":"rack","size":4}])");
  spec["podSets"] = Array{Object{{"name", "a"}, {"topologyRequest", std::move(request)}}, Object{{"name", "b"}}};
  Object status;
  if (flip()) status[is_older ? "accumulatedPastExexcutionTimeSeconds" : "accumulatedPastExecutionTimeSeconds"] = 7;
  if (flip())
    status["admission"] = Object{
        {"podSetAssignments", Array{Object{{"name", "a"}, {"topologyAssignment", is_older ? domains() : slices()}}}}};
  return Object{{"metadata", metadata()}, {"spec", std::move(spec)}, {"status", std::move(status)}};
}

Value local_queue(bool is_older) {
  Object status{{"pendingWorkloads", 1}};
  if (flip()) status[is_older ? "flavorUsage" : "flavorsUsage"] = Array{Object{{"name", "f"}}};
  return Object{{"metadata", metadata()}, {"spec", Object{{"clusterQueue", "q"}}}, {"status", std::move(status)}};
}

struct Kind {
  const VersionPair& pair;
  Value (*make)(bool is_older);
};

const std::array<Kind, 3>& kinds() {
  static const std::array<Kind, 3> all{Kind{cluster_queue_versions(), cluster_queue},
                                       {local_queue_versions(), local_queue},
                                       {workload_versions(), workload}};
  return all;
}

RC_GTEST_PROP(KueueVersionsProperty, NothingIsLostThereAndBack, ()) {
  const auto& kind = kinds()[static_cast<std::size_t>(*rc::gen::inRange(0, 3))];
  const bool is_older = flip();
  const auto written = kind.make(is_older);
  const auto there = is_older ? up(written, kind.pair) : down(written, kind.pair);
  const auto back = is_older ? down(there, kind.pair) : up(there, kind.pair);
  RC_ASSERT(json::equal(back, written));
  // And a second round is like the first.
  RC_ASSERT(json::equal(is_older ? up(back, kind.pair) : down(back, kind.pair), there));
}

RC_GTEST_PROP(KueueVersionsProperty, NeitherVersionHasWordsOfTheOther, ()) {
  const auto newer = json::serialize(up(cluster_queue(true), cluster_queue_versions()).at("spec"));
  for (const char* word : {"\"cohort\"", "\"Borrow\"", "\"Preempt\"", "\"admissionChecks\":[\""})
    RC_ASSERT(newer.find(word) == std::string::npos);
  const auto older = json::serialize(down(workload(false), workload_versions()).at("spec"));
  for (const char* word : {"priorityClassRef", "Constraints"}) RC_ASSERT(older.find(word) == std::string::npos);
}

RC_GTEST_PROP(KueueVersionsProperty, AChangeInTheOtherVersionIsKept, ()) {
  auto stored = up(cluster_queue(true), cluster_queue_versions());
  auto& spec = stored.at("spec").as_object();
  spec["cohortName"] = "changed";
  spec["flavorFungibility"] = fungibility(false);
  if (flip()) spec.erase("admissionChecksStrategy");
  const auto seen = up(down(stored, cluster_queue_versions()), cluster_queue_versions());
  RC_ASSERT(json::equal(seen.at("spec"), stored.at("spec")));
}

}  // namespace
}  // namespace gangway::api
