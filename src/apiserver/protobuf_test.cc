// Bodies in protobuf: every sample is the object that its JSON form is, and every place that takes a body takes them.
#include "json/protobuf.h"

#include <gtest/gtest.h>

#include "apiserver/protobuf_samples.h"
#include "apiserver/test_server.h"
#include "json/schema_decode.h"
#include "json/schema_default.h"

namespace gangway::apiserver {
namespace {

constexpr auto kProtobuf = "application/vnd.kubernetes.protobuf";

TestResponse post(TestServer& server, std::string target, const ProtobufSample& sample) {
  return server.request("POST", std::move(target), {.body = bytes_of(sample.hex), .content_type = kProtobuf});
}

TEST(ProtobufBodies, AreTheObjectsThatTheirJsonIs) {
  auto kinds = load_builtin_kinds(embedded_kinds());
  ASSERT_TRUE(kinds) << kinds.error().message;
  for (const auto& sample : {kDeployment, kPod, kSecret, kLease, kSelfSubjectAccessReview, kSubjectAccessReview,
                             kEviction, kCustomResourceDefinition, kDeleteOptions}) {
    const auto* schema = kinds->schemas->definition(sample.definition);
    ASSERT_NE(schema, nullptr) << sample.definition;
    auto body = bytes_of(sample.hex);
    auto envelope = json::open_protobuf(body);
    ASSERT_TRUE(envelope) << sample.definition << ": " << envelope.error().message;
    auto got = json::decode_protobuf(envelope->message, *schema);
    ASSERT_TRUE(got) << sample.definition << ": " << got.error().message;
    got->get_object()["apiVersion"] = envelope->api_version;
    got->get_object()["kind"] = envelope->kind;
    EXPECT_EQ(json::check_types(*got, *schema), std::nullopt) << sample.definition;
    // Protobuf spells zero values out that JSON leaves out; in normal form there is one spelling.
    auto want = json::parse(sample.json);
    ASSERT_TRUE(want) << sample.definition << ": " << want.error().message;
    json::normalize(*got, *schema);
    json::normalize(*want, *schema);
    EXPECT_TRUE(json::equal(*got, *want)) << json::serialize(*got) << "\nwant\n" << json::serialize(*want);
  }
}

TEST(ProtobufBodies, CreateObjects) {
  TestServer server;
  auto made = post(server, "/api/v1/namespaces/default/secrets", kSecret);
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at({"metadata", "name"}), "s");
  EXPECT_EQ(made.at({"data", "bin"}), "AAH+/w==");
  EXPECT_EQ(made.at({"data", "t"}), "w7w=");
}

TEST(ProtobufBodies, AskForReviews) {
  TestServer server;
  auto review = post(server, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", kSelfSubjectAccessReview);
  EXPECT_EQ(review.status, 201) << review.text;
  EXPECT_EQ(review.at({"spec", "resourceAttributes", "resource"}), "pods");
  const auto* allowed = json::find(review.body, {"status", "allowed"});
  EXPECT_TRUE(allowed && allowed->is_bool() && allowed->get_bool()) << review.text;
}

TEST(ProtobufBodies, GiveDeleteOptions) {
  TestServer server;
  const std::string target = "/api/v1/namespaces/default/secrets/s";
  ASSERT_EQ(post(server, "/api/v1/namespaces/default/secrets", kSecret).status, 201);
  auto removed = server.request("DELETE", target, {.body = bytes_of(kDeleteOptions.hex), .content_type = kProtobuf});
  EXPECT_EQ(removed.status, 200) << removed.text;
  // The options ask for a dry run.
  EXPECT_EQ(server.request("GET", target, {}).status, 200);
}

TEST(ProtobufBodies, OfSubresourcesAreOfTheirOwnKind) {
  TestServer server;
  auto evicted = post(server, "/api/v1/namespaces/default/pods/p/eviction", kEviction);
  EXPECT_EQ(evicted.status, 404) << evicted.text;
  EXPECT_EQ(evicted.message(), "pods \"p\" not found");
  auto misnamed = post(server, "/api/v1/namespaces/default/pods/q/eviction", kEviction);
  EXPECT_EQ(misnamed.status, 400) << misnamed.text;
}

TEST(ProtobufBodies, ThatCannotBeReadAreRefused) {
  TestServer server;
  const std::string secrets = "/api/v1/namespaces/default/secrets";
  auto cut = bytes_of(kSecret.hex);
  cut.resize(cut.size() / 2);
  for (const auto& body : {cut, std::string("{}"), std::string("k8s\0", 4) + "\x0a"}) {
    auto refused = server.request("POST", secrets, {.body = body, .content_type = kProtobuf});
    EXPECT_EQ(refused.status, 400) << refused.text;
    EXPECT_TRUE(refused.message().starts_with("Secret in version \"v1\" cannot be handled as a Secret: "))
        << refused.text;
  }
}

TEST(ProtobufBodies, AreNotForUsersOwnKinds) {
  TestServer server;
  auto defined = post(server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kCustomResourceDefinition);
  ASSERT_EQ(defined.status, 201) << defined.text;
  const std::string definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/tabs.x.io";
  auto served = server.request("GET", "/apis/x.io/v1/namespaces/default/tabs", {});
  ASSERT_EQ(served.status, 200) << served.text << server.request("GET", definition, {}).text;
  auto refused = post(server, "/apis/x.io/v1/namespaces/default/tabs", kSecret);
  EXPECT_EQ(refused.status, 415) << refused.text;
}

}  // namespace
}  // namespace gangway::apiserver
