#include "apiserver/rest/history.h"

#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

constexpr auto kConfigMaps = "/api/v1/namespaces/default/configmaps";

std::string revision_of(const TestResponse& response) {
  return std::string(response.at({"metadata", "resourceVersion"}));
}

std::string shown(const TestResponse& list) {
  std::string text;
  for (const auto& item : list.body.at("items").as_array()) {
    text += std::string(json::string_at(item, {"metadata", "name"})) + "=" +
            std::string(json::string_at(item, {"data", "x"})) + " ";
  }
  return text;
}

// a changes twice, b goes, c comes: each of them is as it was.
TEST(History, AListMayAskForAnEarlierState) {
  TestServer server;
  server.post(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"x":"1"}})");
  auto then = revision_of(server.post(kConfigMaps, R"({"metadata":{"name":"b"},"data":{"x":"1"}})"));
  server.merge_patch(std::string(kConfigMaps) + "/a", R"({"data":{"x":"2"}})");
  server.merge_patch(std::string(kConfigMaps) + "/a", R"({"data":{"x":"3"}})");
  server.remove(std::string(kConfigMaps) + "/b");
  server.post(kConfigMaps, R"({"metadata":{"name":"c"},"data":{"x":"1"}})");

  auto past = server.get(std::string(kConfigMaps) + "?resourceVersionMatch=Exact&resourceVersion=" + then);
  ASSERT_EQ(past.status, 200) << past.text;
  EXPECT_EQ(shown(past), "a=1 b=1 ");
  EXPECT_EQ(revision_of(past), then);
  EXPECT_EQ(shown(server.get(std::string(kConfigMaps) + "?resourceVersionMatch=NotOlderThan&resourceVersion=" + then)),
            "a=3 c=1 ");
}

TEST(History, ThePagesOfAnEarlierStateAreOfThatState) {
  TestServer server;
  server.post(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"x":"1"}})");
  auto then = revision_of(server.post(kConfigMaps, R"({"metadata":{"name":"b"},"data":{"x":"1"}})"));
  server.merge_patch(std::string(kConfigMaps) + "/b", R"({"data":{"x":"2"}})");

  auto first = server.get(std::string(kConfigMaps) + "?limit=1&resourceVersionMatch=Exact&resourceVersion=" + then);
  EXPECT_EQ(shown(first), "a=1 ");
  auto rest =
      server.get(std::string(kConfigMaps) + "?limit=1&continue=" + std::string(first.at({"metadata", "continue"})));
  EXPECT_EQ(shown(rest), "b=1 ");
  EXPECT_EQ(revision_of(rest), then);
}

TEST(History, WhatTheLogHasForgottenIsExpired) {
  TestServer server;
  auto then = revision_of(server.post(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"x":"1"}})"));
  // The log keeps at least its last publication, so one that is larger than all it may hold pushes out the rest.
  std::string large(900'000, 'x');
  for (int i = 0; i < 12; ++i) {
    server.post(kConfigMaps,
                R"({"metadata":{"name":"l)" + std::to_string(i) + R"("},"data":{"y":")" + large + R"("}})");
  }
  auto past = server.get(std::string(kConfigMaps) + "?resourceVersionMatch=Exact&resourceVersion=" + then);
  EXPECT_EQ(past.status, 410);
  EXPECT_EQ(past.reason(), "Expired");
}

}  // namespace
}  // namespace gangway::apiserver
