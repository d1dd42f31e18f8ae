#include "json/managed_fields.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/merge_patch.h"
#include "json/structured_merge.h"
#include "json/test_schemas.h"

namespace gangway::json {
namespace {

// One object and the writes to it. What the managers are expected to own was read off kube-apiserver 1.33 for the same
// sequences on Deployments, Pods and ConfigMaps.
class Story {
 public:
  Story() : empty_(empty_object(test_schema())), object_(empty_) {}

  void create(std::string_view manager, std::string_view text) {
    Value object = json_of(text);
    object_at(object, {"metadata"})["uid"] = "u1";
    track_update(empty_, object, write(manager));
    object_ = std::move(object);
  }
  void patch(std::string_view manager, std::string_view text, std::string_view subresource = "") {
    Value object = object_;
    apply_merge_patch(object, json_of(text));
    track_update(object_, object, write(manager, subresource));
    object_ = std::move(object);
  }
  // The error's message, or "" and the object is the applied one.
  std::string apply(std::string_view manager, std::string_view text, bool force = false,
                    std::string_view subresource = "") {
    const FieldSet reset = FieldSet::of_fields({{"status"}});
    FieldWrite w = write(manager, subresource);
    if (subresource.empty()) w.reset_fields = &reset;
    Result<Applied> applied = apply_configuration(object_, json_of(text), w, force);
    if (!applied) {
      error_ = applied.error();
      return error_.message;
    }
    object_ = std::move(applied->object);
    object_at(object_, {"metadata"})["uid"] = "u1";
    changed_ = applied->changed;
    return "";
  }

  // "one Update {…}" per entry, in their order.
  std::vector<std::string> managers() const {
    std::vector<std::string> lines;
    const Value* entries = find(object_, {"metadata", "managedFields"});
    if (entries == nullptr) return lines;
    for (const Value& entry : entries->get_array()) {
      std::string line(string_at(entry, {"manager"}));
      line += ' ';
      line += string_at(entry, {"operation"});
      if (const std::string_view sub = string_at(entry, {"subresource"}); !sub.empty()) line += '/' + std::string(sub);
      lines.push_back(line + ' ' + serialize(entry.at("fieldsV1")));
    }
    return lines;
  }
  std::string time_of(std::string_view manager) const {
    for (const Value& entry : object_.at("metadata").at("managedFields").get_array())
      if (string_at(entry, {"manager"}) == manager) return std::string(string_at(entry, {"time"}));
    return "no entry";
  }
  const Value& object() const { return object_; }
  const Error& error() const { return error_; }
  bool changed() const { return changed_; }
  void advance() { now_ += std::chrono::seconds(60); }

 private:
  FieldWrite write(std::string_view manager, std::string_view subresource = "") const {
    FieldWrite w;
    w.schema = &test_schema();
    w.empty = &empty_;
    w.manager = manager;
    w.subresource = subresource;
    w.api_version = "v1";
    w.now = now_;
    return w;
  }

  Value empty_;
  Value object_;
  Error error_;
  bool changed_ = false;
  WallTime now_ = WallTime(std::chrono::seconds(1'600'000'000));
};

using Lines = std::vector<std::string>;

constexpr const char* kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"1"}},"spec":{"replicas":2,)"
    R"("strategy":{"rollingUpdate":{"maxSurge":1}},"selector":{"matchLabels":{"a":"1"}},)"
    R"("containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}},"ports":[{"containerPort":80,"protocol":"TCP"}]}]}})";
constexpr const char* kPodContainer =
    R"(k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":)"
    R"({".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{}}}})";

TEST(ManagedFields, CreateOwnsWhatItSet) {
  Story story;
  story.create("one", kPod);
  EXPECT_EQ(story.managers(),
            Lines{std::string(
                      R"(one Update {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:containers":{".":{},")") +
                  kPodContainer +
                  R"(},"f:replicas":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{}}}}})"});
  EXPECT_EQ(story.time_of("one"), "2020-09-13T12:26:40Z");
}

TEST(ManagedFields, UpdateMovesChangedFields) {
  Story story;
  story.create("one", R"({"metadata":{"name":"p","labels":{"a":"1"}},"spec":{"replicas":2,"paused":true}})");
  story.advance();
  story.patch("two", R"({"metadata":{"labels":{"b":"2"}},"spec":{"replicas":3}})");
  EXPECT_EQ(story.managers(),
            (Lines{R"(one Update {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:paused":{}}})",
                   R"(two Update {"f:metadata":{"f:labels":{"f:b":{}}},"f:spec":{"f:replicas":{}}})"}));
  EXPECT_EQ(story.time_of("one"), "2020-09-13T12:26:40Z");
  EXPECT_EQ(story.time_of("two"), "2020-09-13T12:27:40Z");

  story.advance();
  story.patch("three", R"({"spec":{"replicas":3}})");
  EXPECT_EQ(story.managers().size(), 2u) << "a write that changes nothing is not recorded";
  EXPECT_EQ(story.time_of("two"), "2020-09-13T12:27:40Z");

  story.patch("four", R"({"metadata":{"labels":null},"spec":{"paused":null,"replicas":9}})");
  EXPECT_EQ(story.managers(), (Lines{R"(four Update {"f:spec":{"f:replicas":{}}})"}))
      << "managers that own nothing any more are dropped";
}

TEST(ManagedFields, SubresourcesAreKeptApart) {
  Story story;
  story.create("one", R"({"spec":{"replicas":2}})");
  story.patch("one", R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})", "status");
  EXPECT_EQ(
      story.managers(),
      (Lines{R"(one Update {"f:spec":{"f:replicas":{}}})",
             R"(one Update/status {"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},)"
             R"("f:type":{}}},"f:phase":{}}})"}));
}

TEST(ManagedFields, ClientsMayResetOrReplaceTheTracking) {
  for (const char* reset : {R"({"metadata":{"managedFields":[{}]}})", R"({"metadata":{"managedFields":[]}})"}) {
    Story story;
    story.create("one", R"({"spec":{"replicas":2}})");
    story.patch("two", reset);
    EXPECT_EQ(story.managers(), Lines{});
    story.patch("two", R"({"spec":{"replicas":3}})");
    EXPECT_EQ(story.managers(), Lines{}) << "an untracked object stays untracked";
    EXPECT_EQ(story.apply("ap", R"({"spec":{"replicas":3}})"), "");
    EXPECT_EQ(story.managers(), (Lines{R"(ap Apply {"f:spec":{"f:replicas":{}}})",
                                       R"(before-first-apply Update {"f:spec":{"f:replicas":{}}})"}));
    EXPECT_EQ(story.time_of("ap"), "") << "nothing changed, so there is no time";
  }
  Story story;
  story.create("one", R"({"spec":{"replicas":2,"paused":true}})");
  story.patch("two", R"({"metadata":{"managedFields":[{"manager":"x","operation":"Update","apiVersion":"v1",
      "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{}}}}]}})");
  EXPECT_EQ(story.managers(), Lines{R"(x Update {"f:spec":{"f:paused":{}}})"});
  story.patch("two", R"({"metadata":{"managedFields":[{"manager":"broken"}]},"spec":{"paused":false}})");
  EXPECT_EQ(story.managers(), Lines{R"(two Update {"f:spec":{"f:paused":{}}})"}) << "what cannot be read is ignored";
  story.patch("three", R"({"metadata":{"managedFields":[]},"status":{"phase":"x"}})", "status");
  EXPECT_EQ(story.managers(),
            (Lines{R"(three Update/status {"f:status":{"f:phase":{}}})", R"(two Update {"f:spec":{"f:paused":{}}})"}))
      << "through a subresource the request's managedFields are ignored";
}

TEST(ManagedFields, OldUpdatersBecomeAncientChanges) {
  Story story;
  story.create("m", R"({"metadata":{"labels":{"x":"1"}}})");
  for (int i = 0; i < 12; ++i) {
    story.advance();
    const std::string n = std::to_string(10 + i);
    story.patch("u" + n, R"({"metadata":{"labels":{"k)" + n + R"(":"v"}}})");
  }
  const Lines managers = story.managers();
  ASSERT_EQ(managers.size(), 10u);
  EXPECT_EQ(managers[0],
            R"(ancient-changes Update {"f:metadata":{"f:labels":{".":{},"f:k10":{},"f:k11":{},"f:k12":{},"f:x":{}}}})");
  EXPECT_EQ(managers[1], R"(u13 Update {"f:metadata":{"f:labels":{"f:k13":{}}}})");
  EXPECT_EQ(managers[9], R"(u21 Update {"f:metadata":{"f:labels":{"f:k21":{}}}})");
}

// A kind of two versions: what is spec.a in "one" is spec.b in "two".
Value in_version(Value object, std::string_view version) {
  Value* spec = find(object, {"spec"});
  if (spec == nullptr || !spec->is_object()) return object;
  const bool is_one = version == "one";
  Object& fields = spec->get_object();
  if (const auto at = fields.find(is_one ? "b" : "a"); at != fields.end()) {
    const Value value = at->value();
    fields.erase(at);
    fields[is_one ? "a" : "b"] = value;
  }
  return object;
}

FieldWrite write_in(std::string version, std::string_view manager) {
  static const Value empty = Object();
  FieldWrite write;
  write.empty = &empty;
  write.manager = manager;
  write.api_version = version;
  write.form_of = [here = std::move(version)](std::string_view there) {
    const auto to = [](std::string_view target) {
      return [name = std::string(target)](const Value& object) { return in_version(object, name); };
    };
    return VersionForm{nullptr, to(there), to(here)};
  };
  return write;
}

TEST(ManagedFields, ManagersAreFollowedInTheVersionTheyWroteIn) {
  const Value nothing = Object();
  const auto made = apply_configuration(nothing, json_of(R"({"spec":{"a":1,"c":1}})"), write_in("one", "me"), false);
  ASSERT_TRUE(made) << made.error().message;
  // Somebody else changes a, which is b to them.
  Value before = in_version(made->object, "two");
  object_at(before, {"metadata"})["uid"] = "u1";
  Value object = before;
  object_at(object, {"spec"})["b"] = 2;
  track_update(before, object, write_in("two", "you"));
  const auto& entries = object.at("metadata").at("managedFields").as_array();
  ASSERT_EQ(entries.size(), 2U) << serialize(object);
  EXPECT_EQ(entries[0].at("fieldsV1"), json_of(R"({"f:spec":{".":{},"f:c":{}}})"));
  EXPECT_EQ(entries[1].at("fieldsV1"), json_of(R"({"f:spec":{"f:b":{}}})"));
}

TEST(Apply, WhatIsLeftOutGoesWhateverItWasCalled) {
  const Value nothing = Object();
  const auto made = apply_configuration(nothing, json_of(R"({"spec":{"a":1,"c":1}})"), write_in("one", "me"), false);
  ASSERT_TRUE(made) << made.error().message;
  const auto alone = apply_configuration(in_version(made->object, "two"), json_of(R"({"spec":{"c":1}})"),
                                         write_in("two", "me"), false);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(alone->object.at("spec"), json_of(R"({"c":1})")) << serialize(alone->object);
  // Unless somebody else owns it, in their own words.
  const auto shared = apply_configuration(in_version(made->object, "two"), json_of(R"({"spec":{"b":1}})"),
                                          write_in("two", "you"), false);
  ASSERT_TRUE(shared) << shared.error().message;
  const auto left = apply_configuration(in_version(shared->object, "one"), json_of(R"({"spec":{"c":1}})"),
                                        write_in("one", "me"), false);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(left->object.at("spec"), json_of(R"({"a":1,"c":1})")) << serialize(left->object);
  // And to change it is a conflict.
  const auto refused = apply_configuration(in_version(shared->object, "one"), json_of(R"({"spec":{"a":3,"c":1}})"),
                                           write_in("one", "me"), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "Apply failed with 1 conflict: conflict with \"you\": .spec.b");
}

TEST(Apply, CreatesAndRepeats) {
  Story story;
  ASSERT_EQ(story.apply("ap", kPod), "");
  const Lines first{
      R"(ap Apply {"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},)"
      R"("f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},)"
      R"("f:resources":{"f:limits":{"f:cpu":{}}}}},"f:replicas":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":)"
      R"({"f:maxSurge":{}}}}})"};
  EXPECT_EQ(story.managers(), first);
  EXPECT_TRUE(story.changed());
  const Value before = story.object();
  story.advance();
  ASSERT_EQ(story.apply("ap", kPod), "");
  EXPECT_FALSE(story.changed());
  EXPECT_TRUE(equal(story.object(), before)) << "not even a time changes";
}

TEST(Apply, ConflictsNameManagersAndFields) {
  Story story;
  story.create("one", kPod);
  story.patch("two", R"({"spec":{"replicas":3}})");
  EXPECT_EQ(story.apply("ap", R"({"spec":{"replicas":5}})"),
            "Apply failed with 1 conflict: conflict with \"two\" using v1: .spec.replicas");
  EXPECT_EQ(story.error().reason, Reason::kConflict);
  EXPECT_EQ(story.error().causes,
            (std::vector<Cause>{{"FieldManagerConflict", "conflict with \"two\" using v1", ".spec.replicas"}}));
  EXPECT_EQ(story.apply("ap", R"({"spec":{"replicas":5,"containers":[{"name":"c","image":"j"}]}})"),
            "Apply failed with 2 conflicts: conflicts with \"one\" using v1:\n- .spec.containers[name=\"c\"].image\n"
            "conflicts with \"two\" using v1:\n- .spec.replicas");
  ASSERT_EQ(story.error().causes.size(), 2u);
  EXPECT_EQ(story.error().causes[0].field, ".spec.containers[name=\"c\"].image");

  story.patch("st", R"({"status":{"phase":"Up"}})", "status");
  EXPECT_EQ(story.apply("ap", R"({"status":{"phase":"Down"}})", false, "status"),
            "Apply failed with 1 conflict: conflict with \"st\" with subresource \"status\" using v1: .status.phase");
  ASSERT_EQ(story.apply("other", R"({"metadata":{"labels":{"z":"1"}}})"), "");
  EXPECT_EQ(story.apply("ap", R"({"metadata":{"labels":{"z":"2"}}})"),
            "Apply failed with 1 conflict: conflict with \"other\": .metadata.labels.z");
}

TEST(Apply, ForceTakesTheFields) {
  Story story;
  story.create("one", R"({"spec":{"replicas":2,"paused":true}})");
  ASSERT_EQ(story.apply("ap", R"({"spec":{"replicas":5}})", true), "");
  EXPECT_EQ(story.managers(),
            (Lines{R"(ap Apply {"f:spec":{"f:replicas":{}}})", R"(one Update {"f:spec":{"f:paused":{}}})"}));
  EXPECT_EQ(story.object().at("spec").at("replicas"), 5);
}

TEST(Apply, RemovesWhatIsNoLongerApplied) {
  Story story;
  ASSERT_EQ(story.apply("a", R"({"metadata":{"labels":{"x":"1","y":"1"}},"spec":{"replicas":2,"containers":[
      {"name":"c","image":"i","env":[{"name":"E","value":"1"}]},{"name":"d","image":"i"}]}})"),
            "");
  ASSERT_EQ(story.apply("b", R"({"metadata":{"labels":{"y":"1"}},"spec":{"containers":[{"name":"d","image":"i"}]}})"),
            "");
  story.patch("u", R"({"spec":{"paused":true}})");
  ASSERT_EQ(story.apply("a", R"({"spec":{"containers":[{"name":"c","image":"i"}]}})"), "");
  EXPECT_TRUE(equal(
      story.object().at("spec"),
      json_of(R"({"containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}],"strategy":{},"paused":true})")))
      << serialize(story.object());
  EXPECT_EQ(serialize(story.object().at("metadata").at("labels")), R"({"y":"1"})");
  EXPECT_EQ(story.managers(),
            (Lines{R"(b Apply {"f:metadata":{"f:labels":{"f:y":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"d\"}":)"
                   R"({".":{},"f:image":{},"f:name":{}}}}})",  // changed nothing, so it has no time and comes first
                   R"(a Apply {"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}})",
                   R"(u Update {"f:spec":{"f:paused":{}}})"}));
}

TEST(Apply, AParentThatSomebodyOwnsStays) {
  Story story;
  ASSERT_EQ(story.apply("b", R"({"metadata":{"annotations":{}}})"), "");
  ASSERT_EQ(story.apply("c", R"({"metadata":{"annotations":{"x":"1"}}})"), "");
  ASSERT_EQ(story.apply("c", R"({"spec":{"replicas":1}})"), "");
  EXPECT_EQ(story.managers(),
            (Lines{R"(b Apply {"f:metadata":{"f:annotations":{}}})", R"(c Apply {"f:spec":{"f:replicas":{}}})"}));
  EXPECT_EQ(serialize(story.object().at("metadata").at("annotations")), "{}");
}

TEST(Apply, SharedFieldsSurviveOneOwner) {
  Story story;
  ASSERT_EQ(story.apply("a", R"({"spec":{"replicas":2}})"), "");
  ASSERT_EQ(story.apply("b", R"({"spec":{"replicas":2}})"), "");
  EXPECT_EQ(story.time_of("b"), "");
  ASSERT_EQ(story.apply("a", R"({"spec":{"paused":true}})"), "");
  EXPECT_EQ(story.object().at("spec").at("replicas"), 2);
  ASSERT_EQ(story.apply("b", R"({"metadata":{}})"), "");
  EXPECT_FALSE(story.object().at("spec").get_object().contains("replicas"));
  EXPECT_EQ(story.managers(), Lines{R"(a Apply {"f:spec":{"f:paused":{}}})"});
}

TEST(Apply, ResetFieldsAreNotOwned) {
  Story story;
  ASSERT_EQ(story.apply("a", R"({"spec":{"replicas":2},"status":{"phase":"x"}})"), "");
  EXPECT_EQ(story.managers(), Lines{R"(a Apply {"f:spec":{"f:replicas":{}}})"});
}

TEST(Apply, RefusesBadRequests) {
  Story story;
  story.create("one", R"({"spec":{"replicas":2}})");
  EXPECT_EQ(story.apply("a", R"({"metadata":{"managedFields":[]}})"), "metadata.managedFields must be nil");
  EXPECT_EQ(story.error().reason, Reason::kBadRequest);
  EXPECT_EQ(story.apply("a", R"({"kind":"Pod","metadata":{"name":"d"},"spec":{"foo":1}})"),
            "failed to create typed patch object (/d; /v1, Kind=Pod): .spec.foo: field not declared in schema");
  EXPECT_EQ(story.error().reason, Reason::kUnknown);
}

TEST(Apply, KubectlTakesOverItsClientSideApply) {
  const std::string config = R"({"apiVersion":"v1","metadata":{"name":"c"},"spec":{"paused":true,"replicas":1}})";
  Value first = json_of(config);
  object_at(first, {"metadata", "annotations"})["kubectl.kubernetes.io/last-applied-configuration"] = config + "\n";
  Story story;
  story.create("kubectl-client-side-apply", serialize(first));
  story.patch("other", R"({"spec":{"replicas":2}})");
  EXPECT_EQ(story.apply("kubectl", R"({"apiVersion":"v1","spec":{"replicas":9,"paused":false}})"),
            "Apply failed with 1 conflict: conflict with \"other\" using v1: .spec.replicas");
  ASSERT_EQ(story.apply("kubectl", R"({"spec":{"replicas":2,"paused":false},"apiVersion":"v1"})"), "");
  EXPECT_EQ(story.managers(), (Lines{R"(kubectl Apply {"f:spec":{"f:paused":{},"f:replicas":{}}})",
                                     R"(kubectl-client-side-apply Update {"f:metadata":{"f:annotations":{".":{},)"
                                     R"("f:kubectl.kubernetes.io/last-applied-configuration":{}}}})",
                                     R"(other Update {"f:spec":{"f:replicas":{}}})"}));
  EXPECT_EQ(string_at(story.object(), {"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}),
            R"({"apiVersion":"v1","spec":{"paused":false,"replicas":2}})"
            "\n");
}

TEST(ManagedFields, TimesAloneAreNoChange) {
  const char* text = R"({"metadata":{"managedFields":[{"manager":"a","time":"%"}]},"spec":1})";
  const auto at = [text](const char* time) {
    std::string filled(text);
    return json_of(filled.replace(filled.find('%'), 1, time));
  };
  EXPECT_TRUE(equal_but_for_managed_times(at("1"), at("2")));
  Value other = at("2");
  other.get_object()["spec"] = 2;
  EXPECT_FALSE(equal_but_for_managed_times(at("1"), other));
}

RC_GTEST_PROP(Apply, SameConfigurationTwiceChangesNothing, ()) {
  const Value empty = Object();
  FieldWrite write;
  write.empty = &empty;
  write.api_version = "v1";
  const auto document = [] { return Value(Object{{"spec", *rc::gen::arbitrary<Value>()}}); };
  Value object = empty;
  Value applied;
  for (const char* manager : {"a", "b", "a"}) {
    write.manager = manager;
    applied = document();
    Result<Applied> result = apply_configuration(object, applied, write, true);
    RC_ASSERT(result.has_value());
    object = std::move(result->object);
  }
  const Result<Applied> again = apply_configuration(object, applied, write, false);
  RC_ASSERT(again.has_value());
  RC_ASSERT(equal(again->object, object));
  RC_ASSERT(!again->changed);
}

}  // namespace
}  // namespace gangway::json
