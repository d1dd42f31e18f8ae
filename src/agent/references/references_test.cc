#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pod/test_machine.h"
#include "agent/references/node_references.h"
#include "client/resource.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

using client::resources::kConfigMaps;
using ::testing::ElementsAre;
using State = Looked<KeyValues>::State;

const client::Resource kSecrets{"", "v1", "secrets"};
const client::Resource kServices{"", "v1", "services"};
const client::Resource kClaims{"", "v1", "persistentvolumeclaims"};
const client::Resource kVolumes{"", "v1", "persistentvolumes"};

constexpr const char* kUsesAll = R"({"spec": {"serviceAccountName": "robot", "imagePullSecrets": [{"name": "login"}],
    "volumes": [{"name": "a", "configMap": {"name": "settings"}}, {"name": "b", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "c", "projected": {"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},
                                                        {"secret": {"name": "hidden"}}]}}],
    "containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "more"}}],
                    "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "key", "key": "x"}}}]}]}})";

TEST(NamedObjects, AreAllThatAPodNames) {
  const NamedObjects objects = named_objects(pod_of(kUsesAll));
  std::vector<std::string> keys;
  for (const NamedKeys& each : objects.keys)
    keys.push_back(fmt::format("{} {}/{}", each.in == KeyHolder::kSecret ? "secret" : "map", each.ns, each.name));
  EXPECT_THAT(keys,
              ElementsAre("map ns/more", "map ns/settings", "secret ns/hidden", "secret ns/key", "secret ns/login"));
  EXPECT_THAT(objects.claims, ElementsAre("data"));
  ASSERT_EQ(objects.tokens.size(), 1U);
  EXPECT_EQ(objects.tokens.begin()->account, "robot");
  EXPECT_EQ(objects.tokens.begin()->seconds, 600);
}

TEST(KeyValues, AreBytes) {
  EXPECT_EQ(read_key_values(testing::parsed(R"({"data": {"a": "YWI="}})"), KeyHolder::kSecret),
            (KeyValues{{"a", "ab"}}));
  EXPECT_EQ(read_key_values(testing::parsed(R"({"data": {"a": "YWI="}, "binaryData": {"b": "AAE="}})"),
                            KeyHolder::kConfigMap),
            (KeyValues{{"a", "YWI="}, {"b", std::string("\0\1", 2)}}));
}

TEST(VolumePath, IsADirectoryOfThisMachine) {
  EXPECT_EQ(read_volume_path(testing::parsed(R"({"spec": {"hostPath": {"path": "/a"}}})")).path, "/a");
  EXPECT_EQ(read_volume_path(testing::parsed(R"({"spec": {"local": {"path": "/b"}}})")).path, "/b");
  EXPECT_EQ(
      read_volume_path(testing::parsed(R"({"metadata": {"name": "v"}, "spec": {"capacity": {}, "nfs": {}}})")).problem,
      "volume \"v\": source nfs is not run here");
}

TEST(ServiceAddresses, AreOfServicesThatHaveOne) {
  EXPECT_FALSE(read_service(testing::parsed(R"({"spec": {"clusterIP": "None"}})")).has_value());
  const auto service = read_service(
      testing::parsed(R"({"metadata": {"name": "s"}, "spec": {"clusterIP": "10.96.0.9", "ports": [{"port": 80}]}})"));
  ASSERT_TRUE(service.has_value());
  EXPECT_EQ(service->address, "10.96.0.9");
  EXPECT_EQ(service->ports.at(0).number, 80);
}

struct ReferencesTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  std::vector<std::string> changed;
  std::unique_ptr<client::Informer> services;
  std::unique_ptr<NodeReferences> references;

  void SetUp() override {
    client::InformerOptions options;
    options.what.resource = kServices;
    services = std::make_unique<client::Informer>(api, loop, options);
    references =
        std::make_unique<NodeReferences>(loop, std::map<std::string, client::ApiClient*>{{"n0", &api}}, *services,
                                         [this](const std::string& uid) { changed.push_back(uid); });
    services->start();
  }
  void map(const char* name, const char* value) {
    api.create(kConfigMaps, testing::a_config_map("ns", name).with(fmt::format(R"({{"data": {{"k": "{}"}}}})", value)));
  }
  void settle() {
    loop.run_until_idle();
    loop.advance(1s);
  }
};

constexpr const char* kUsesMap =
    R"({"spec": {"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "settings"}}]}]}})";

TEST_F(ReferencesTest, ChangesReachThePodWithinASecond) {
  map("settings", "1");
  references->hold(pod_of(kUsesMap));
  EXPECT_EQ(references->keys(KeyHolder::kConfigMap, "ns", "settings").state, State::kUnknown);
  settle();
  ASSERT_EQ(references->keys(KeyHolder::kConfigMap, "ns", "settings").state, State::kFound);
  EXPECT_EQ(references->keys(KeyHolder::kConfigMap, "ns", "settings").value->at("k"), "1");
  changed.clear();
  api.patch(kConfigMaps, {"ns", "settings"}, testing::parsed(R"({"data": {"k": "2"}})"));
  settle();
  EXPECT_EQ(references->keys(KeyHolder::kConfigMap, "ns", "settings").value->at("k"), "2");
  EXPECT_THAT(changed, ElementsAre("u"));
}

TEST_F(ReferencesTest, WhatIsNotThereIsKnownNotToBe) {
  references->hold(pod_of(kUsesMap));
  settle();
  EXPECT_EQ(references->keys(KeyHolder::kConfigMap, "ns", "settings").state, State::kMissing);
  EXPECT_THAT(changed, ElementsAre("u"));
  map("settings", "1");
  settle();
  EXPECT_EQ(references->keys(KeyHolder::kConfigMap, "ns", "settings").state, State::kFound);
}

TEST_F(ReferencesTest, NothingIsWatchedThatNobodyUses) {
  map("settings", "1");
  PodSpec pod = pod_of(kUsesMap);
  references->hold(pod);
  settle();
  references->release("u");
  changed.clear();
  EXPECT_EQ(references->keys(KeyHolder::kConfigMap, "ns", "settings").state, State::kUnknown);
  api.patch(kConfigMaps, {"ns", "settings"}, testing::parsed(R"({"data": {"k": "2"}})"));
  settle();
  EXPECT_TRUE(changed.empty());
}

TEST_F(ReferencesTest, AnErrorThatStaysIsTold) {
  api.fail_lists(kConfigMaps, testing::an_error(Reason::kForbidden), 10);
  references->hold(pod_of(kUsesMap));
  loop.advance(100ms);
  EXPECT_EQ(references->keys(KeyHolder::kConfigMap, "ns", "settings").error, "");
  loop.advance(10s);
  EXPECT_NE(references->keys(KeyHolder::kConfigMap, "ns", "settings").error, "");
}

TEST_F(ReferencesTest, AClaimIsFoundOnceItIsBound) {
  api.create(kClaims, testing::an_object("v1", "PersistentVolumeClaim", "ns", "data"));
  references->hold(pod_of(
      R"({"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}], "containers": [{"name": "c"}]}})"));
  settle();
  ASSERT_EQ(references->claim("ns", "data").state, Looked<ClaimedPath>::State::kFound);
  EXPECT_EQ(references->claim("ns", "data").value->problem,
            "persistentvolumeclaim \"data\" is not bound to a volume yet");
  api.create(kVolumes,
             testing::an_object("v1", "PersistentVolume", "", "v1").with(R"({"spec": {"hostPath": {"path": "/d"}}})"));
  api.patch(kClaims, {"ns", "data"}, testing::parsed(R"({"spec": {"volumeName": "v1"}})"));
  api.patch(kClaims, {"ns", "data"}, testing::parsed(R"({"status": {"phase": "Bound"}})"), "status");
  changed.clear();
  loop.advance(3s);
  EXPECT_EQ(references->claim("ns", "data").value->path, "/d");
  EXPECT_THAT(changed, ElementsAre("u"));
}

// The fake API has no tokens: this one answers as a server does.
class TokenApi final : public client::ApiClient {
 public:
  explicit TokenApi(testing::ManualLoop& loop) : loop_(loop) {}
  void call(client::ApiRequest request, sys::Completion<api::Version> done) override {
    requests.push_back(request);
    const std::string expires = to_rfc3339(loop_.clock().wall() + 600s);
    auto body = std::make_shared<const std::string>(
        fmt::format(R"({{"status": {{"token": "token-{}", "expirationTimestamp": "{}"}}}})", requests.size(), expires));
    loop_.post([done = std::move(done), body, fails = failing] {
      if (fails) return done(testing::an_error(Reason::kServiceUnavailable));
      done(api::Version{std::make_shared<const api::Header>(), body});
    });
  }
  void list(client::ListRequest, sys::Completion<client::ListAnswer>) override {}
  std::unique_ptr<sys::Subscription> watch(client::WatchRequest, client::WatchCallbacks) override { return nullptr; }

  std::vector<client::ApiRequest> requests;
  bool failing = false;

 private:
  testing::ManualLoop& loop_;
};

TEST(Tokens, AreBoundToThePodAndRenewedAtFourFifthsOfTheirLife) {
  testing::ManualLoop loop;
  TokenApi api(loop);
  std::vector<std::string> changed;
  Tokens tokens(api, loop, [&](const std::string& uid) { changed.push_back(uid); });
  const NamedToken wanted{"robot", "", 600};
  tokens.hold({"u", "ns", "p", "n0"}, wanted);
  EXPECT_EQ(tokens.get("u", wanted).state, Looked<std::string>::State::kUnknown);
  loop.run_until_idle();
  EXPECT_EQ(*tokens.get("u", wanted).value, "token-1");
  ASSERT_EQ(api.requests.size(), 1U);
  EXPECT_EQ(api.requests[0].subresource, "token");
  EXPECT_EQ(api.requests[0].object, (api::ObjectName{"ns", "robot"}));
  const json::Value body = testing::parsed(api.requests[0].body);
  EXPECT_EQ(json::string_at(body, {"spec", "boundObjectRef", "uid"}), "u");
  loop.advance(479s);
  EXPECT_EQ(api.requests.size(), 1U);
  loop.advance(2s);
  EXPECT_EQ(*tokens.get("u", wanted).value, "token-2");
  EXPECT_EQ(changed.size(), 2U);
  tokens.release("u", wanted);
  loop.advance(1h);
  EXPECT_EQ(api.requests.size(), 2U);
}

TEST(Tokens, AnOldOneIsKeptWhileNoNewOneCanBeHad) {
  testing::ManualLoop loop;
  TokenApi api(loop);
  Tokens tokens(api, loop, [](const std::string&) {});
  const NamedToken wanted{"robot", "", 600};
  tokens.hold({"u", "ns", "p", "n0"}, wanted);
  loop.run_until_idle();
  api.failing = true;
  loop.advance(550s);
  EXPECT_EQ(*tokens.get("u", wanted).value, "token-1");
  api.failing = false;
  loop.advance(11s);
  EXPECT_NE(*tokens.get("u", wanted).value, "token-1");
}

}  // namespace
}  // namespace gangway::agent
