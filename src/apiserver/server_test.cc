// The REST machine from the outside: verbs, conflicts, patches, watches, tables, on a server without sockets.
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

constexpr auto kConfigMaps = "/api/v1/namespaces/default/configmaps";

std::string config_map(std::string_view name, std::string_view value = "1") {
  return json::serialize(json::Object{{"apiVersion", "v1"},
                                      {"kind", "ConfigMap"},
                                      {"metadata", json::Object{{"name", name}}},
                                      {"data", json::Object{{"key", value}}}});
}

TEST(Server, CreatesAndReadsBack) {
  TestServer server;
  auto made = server.post(kConfigMaps, config_map("a"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at({"kind"}), "ConfigMap");
  EXPECT_EQ(made.at({"apiVersion"}), "v1");
  EXPECT_EQ(made.at({"metadata", "namespace"}), "default");
  EXPECT_EQ(made.at({"metadata", "creationTimestamp"}), "2026-01-01T00:00:00Z");
  EXPECT_FALSE(made.at({"metadata", "uid"}).empty());
  auto read = server.get(std::string(kConfigMaps) + "/a");
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.body, made.body);
}

TEST(Server, RefusesASecondOfTheSameName) {
  TestServer server;
  server.post(kConfigMaps, config_map("a"));
  auto again = server.post(kConfigMaps, config_map("a"));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.reason(), "AlreadyExists");
  EXPECT_EQ(again.message(), "configmaps \"a\" already exists");
}

TEST(Server, UpdateNeedsTheNewestRevision) {
  TestServer server;
  auto made = server.post(kConfigMaps, config_map("a"));
  auto stale = made.body;
  auto changed = server.merge_patch(std::string(kConfigMaps) + "/a", R"({"data":{"key":"2"}})");
  ASSERT_EQ(changed.status, 200) << changed.text;
  EXPECT_NE(changed.at({"metadata", "resourceVersion"}), made.at({"metadata", "resourceVersion"}));
  auto refused = server.put(std::string(kConfigMaps) + "/a", json::serialize(stale));
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.reason(), "Conflict");
}

TEST(Server, WritingTheSameChangesNothing) {
  TestServer server;
  auto made = server.post(kConfigMaps, config_map("a"));
  auto again = server.put(std::string(kConfigMaps) + "/a", json::serialize(made.body));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.at({"metadata", "resourceVersion"}), made.at({"metadata", "resourceVersion"}));
}

TEST(Server, ListsInPagesOfOneRevision) {
  TestServer server;
  for (auto name : {"a", "b", "c", "d", "e"})
    server.post("/api/v1/namespaces/default/secrets", R"({"metadata":{"name":")" + std::string(name) + R"("}})");
  auto first = server.get("/api/v1/namespaces/default/secrets?limit=2");
  ASSERT_EQ(first.body.at("items").as_array().size(), 2u);
  EXPECT_EQ(first.body.at("metadata").at("remainingItemCount"), 3);
  // What happens between the pages must not show on them.
  server.post("/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"bb"}})");
  server.remove("/api/v1/namespaces/default/secrets/d");
  std::vector<std::string> names;
  std::string token(first.at({"metadata", "continue"}));
  while (!token.empty()) {
    auto page = server.get("/api/v1/namespaces/default/secrets?limit=2&continue=" + token);
    ASSERT_EQ(page.status, 200) << page.text;
    EXPECT_EQ(page.at({"metadata", "resourceVersion"}), first.at({"metadata", "resourceVersion"}));
    for (const auto& item : page.body.at("items").as_array())
      names.emplace_back(json::string_at(item, {"metadata", "name"}));
    token = page.at({"metadata", "continue"});
  }
  EXPECT_EQ(names, (std::vector<std::string>{"c", "d", "e"}));
}

TEST(Server, WatchTellsWhatASelectorMeans) {
  TestServer server;
  auto labelled = [](std::string_view value) {
    return json::serialize(
        json::Object{{"metadata", json::Object{{"name", "a"}, {"labels", json::Object{{"app", value}}}}}});
  };
  auto list = server.get(kConfigMaps);
  auto watch = server.get(std::string(kConfigMaps) + "?watch=true&labelSelector=app%3Dweb&resourceVersion=" +
                          std::string(list.at({"metadata", "resourceVersion"})));
  ASSERT_TRUE(watch.stream);
  server.post(kConfigMaps, labelled("db"));
  EXPECT_TRUE(server.events(*watch.stream).empty());
  server.merge_patch(std::string(kConfigMaps) + "/a", labelled("web"));
  server.merge_patch(std::string(kConfigMaps) + "/a", R"({"data":{"x":"y"}})");
  server.merge_patch(std::string(kConfigMaps) + "/a", labelled("db"));
  auto events = server.events(*watch.stream);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(json::string_at(events[0], {"type"}), "ADDED");
  EXPECT_EQ(json::string_at(events[1], {"type"}), "MODIFIED");
  EXPECT_EQ(json::string_at(events[2], {"type"}), "DELETED");
  EXPECT_EQ(json::string_at(events[2], {"object", "metadata", "labels", "app"}), "web")
      << "the last state that matched";
  EXPECT_EQ(json::string_at(events[0], {"object", "kind"}), "ConfigMap");
}

TEST(Server, WatchWithoutRevisionBeginsWithWhatIsThere) {
  TestServer server;
  server.post(kConfigMaps, config_map("a"));
  auto watch = server.get("/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=metadata.name%3Da");
  auto events = server.events(*watch.stream);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(json::string_at(events[0], {"type"}), "ADDED");
}

TEST(Server, SendsInitialEventsAndSaysWhereTheyEnd) {
  TestServer server;
  server.post(kConfigMaps, config_map("a"));
  auto watch =
      server.get(std::string(kConfigMaps) +
                 "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
  auto events = server.events(*watch.stream);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(json::string_at(events[1], {"type"}), "BOOKMARK");
  EXPECT_EQ(json::string_at(events[1], {"object", "metadata", "annotations", "k8s.io/initial-events-end"}), "true");
}

TEST(Server, ListsAndWatchesSayWhatIsWrongWithTheirOptions) {
  struct Case {
    const char* query;
    std::size_t causes;
  };
  TestServer server;
  for (const auto& c : {Case{"?sendInitialEvents=true&resourceVersionMatch=NotOlderThan", 2},
                        {"?resourceVersionMatch=Exact&resourceVersion=0", 1},
                        {"?watch=1&resourceVersionMatch=Exact", 2},
                        {"?watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", 2},
                        {"?watch=1&continue=abc", 1}}) {
    auto answer = server.get(std::string(kConfigMaps) + c.query);
    EXPECT_EQ(answer.status, 422) << c.query;
    EXPECT_EQ(json::find(answer.body, {"details", "causes"})->as_array().size(), c.causes) << answer.text;
  }
}

TEST(Server, TellsAnUnknownFormFromAnUnknownFormat) {
  TestServer server;
  auto format = server.request("GET", kConfigMaps, {.accept = "text/html"});
  EXPECT_EQ(format.status, 406);
  EXPECT_TRUE(format.message().starts_with("406: Not Acceptable")) << format.text;
  auto form = server.request("GET", kConfigMaps, {.accept = "application/json;as=Bogus;v=v1;g=meta.k8s.io"});
  EXPECT_EQ(form.status, 406);
  EXPECT_TRUE(form.message().starts_with("only the following media types are accepted")) << form.text;
}

// kubectl apply --prune asks for these, and must not be told that there is no such kind.
TEST(Server, SomeKindsCanBeAskedForButNotMade) {
  TestServer server;
  for (std::string path :
       {"/api/v1/namespaces/default/replicationcontrollers", "/apis/apps/v1/namespaces/default/daemonsets",
        "/apis/batch/v1/namespaces/default/cronjobs", "/apis/networking.k8s.io/v1/namespaces/default/ingresses"}) {
    auto list = server.get(path);
    EXPECT_EQ(list.status, 200) << path;
    EXPECT_TRUE(list.body.at("items").as_array().empty());
    auto made = server.post(path, R"({"metadata":{"name":"a"}})");
    EXPECT_EQ(made.status, 405) << path;
    EXPECT_NE(made.message().find("nothing would run them"), std::string::npos) << made.text;
    EXPECT_EQ(server.apply(path + "/a", R"({"metadata":{"name":"a"}})", "m").status, 405);
    EXPECT_EQ(server.remove(path + "/a").status, 405);
  }
}

TEST(Server, KnowsNoPageOfAGroupThatIsNone) {
  TestServer server;
  for (auto path : {"/apis/bogus.example.com", "/apis/bogus.example.com/v1", "/apis/bogus.example.com/v1/things"}) {
    EXPECT_EQ(server.get(path).text, "404 page not found\n") << path;
  }
  EXPECT_EQ(server.get("/apis/apps/v9").reason(), "NotFound");
  EXPECT_EQ(server.get("/api/v1/namespaces/default/configmaps/a%2Fb").message(),
            "the server could not find the requested resource");
}

// A power loss must not take back what an answer stood on, not even one that wrote nothing itself.
TEST(Server, AnswersThatWriteNothingWaitForWhatTheyStandOn) {
  const std::string path = std::string(kConfigMaps) + "/a";
  struct Repeated {
    std::string method, target, body, content_type;
    int status;
  };
  for (const auto& repeated :
       {Repeated{"POST", kConfigMaps, config_map("a"), "application/json", 409},
        Repeated{"PATCH", path, R"({"metadata":{"name":"a"}})", "application/merge-patch+json", 200},
        Repeated{"PUT", path, R"({"metadata":{"name":"a","resourceVersion":"1"}})", "application/json", 409}}) {
    TestServer server;
    const api::ObjectKey key{"configmaps", {"default", "a"}};
    auto first = server.begin("POST", kConfigMaps, {.body = config_map("a")});
    while (!server.store.head()->get(key)) ASSERT_TRUE(server.loop.run_one());
    ASSERT_FALSE(server.store.root()->get(key)) << "nothing is under way, so nothing is tested";
    auto second =
        server.begin(repeated.method, repeated.target, {.body = repeated.body, .content_type = repeated.content_type});
    while (!*second) ASSERT_TRUE(server.loop.run_one());
    EXPECT_EQ((*second)->status, repeated.status) << (*second)->text;
    EXPECT_TRUE(server.store.root()->get(key)) << repeated.method << " was answered too early";
  }
}

TEST(Server, FinalizersHoldADeletedObject) {
  TestServer server;
  server.post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/hold"]}})");
  auto removed = server.remove(std::string(kConfigMaps) + "/a");
  EXPECT_EQ(removed.status, 200);
  EXPECT_FALSE(removed.at({"metadata", "deletionTimestamp"}).empty()) << removed.text;
  EXPECT_EQ(server.get(std::string(kConfigMaps) + "/a").status, 200);
  server.merge_patch(std::string(kConfigMaps) + "/a", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(server.get(std::string(kConfigMaps) + "/a").status, 404);
}

TEST(Server, DeletePreconditionsAreHonoured) {
  TestServer server;
  server.post(kConfigMaps, config_map("a"));
  auto refused = server.remove(std::string(kConfigMaps) + "/a", R"({"preconditions":{"uid":"other"}})");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(server.get(std::string(kConfigMaps) + "/a").status, 200);
}

TEST(Server, DryRunLeavesNoTrace) {
  TestServer server;
  auto dry = server.post(std::string(kConfigMaps) + "?dryRun=All", config_map("a"));
  EXPECT_EQ(dry.status, 201);
  EXPECT_EQ(server.get(std::string(kConfigMaps) + "/a").status, 404);
}

TEST(Server, UnknownFieldsWarnOrFail) {
  TestServer server;
  auto body = R"({"metadata":{"name":"a"},"dataa":{"x":"y"}})";
  auto warned = server.post(std::string(kConfigMaps) + "?dryRun=All", body);
  EXPECT_EQ(warned.status, 201);
  ASSERT_EQ(warned.warnings.size(), 1u);
  EXPECT_EQ(warned.warnings[0], R"(299 - "unknown field \"dataa\"")");
  auto strict = server.post(std::string(kConfigMaps) + "?fieldValidation=Strict", body);
  EXPECT_EQ(strict.status, 400);
  EXPECT_NE(strict.message().find("strict decoding error: unknown field \"dataa\""), std::string::npos) << strict.text;
}

TEST(Server, ApplyConflictsNameTheOtherManager) {
  TestServer server;
  auto configuration = [](std::string_view value) {
    return "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: '" + std::string(value) + "'}}";
  };
  ASSERT_EQ(server.apply(std::string(kConfigMaps) + "/a", configuration("1"), "one").status, 201);
  auto refused = server.apply(std::string(kConfigMaps) + "/a", configuration("2"), "two");
  EXPECT_EQ(refused.status, 409);
  ASSERT_EQ(refused.body.at("details").at("causes").as_array().size(), 1u);
  EXPECT_EQ(json::string_at(refused.body.at("details").at("causes").as_array()[0], {"field"}), ".data.key");
  EXPECT_EQ(server.apply(std::string(kConfigMaps) + "/a", configuration("2"), "two", true).status, 200);
}

TEST(Server, TablesHaveTheKindsColumns) {
  TestServer server;
  server.post(kConfigMaps, config_map("a"));
  auto table = server.request("GET", std::string(kConfigMaps) + "?fieldSelector=metadata.name%3Da",
                              {.accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"});
  ASSERT_EQ(table.at({"kind"}), "Table");
  const auto& row = table.body.at("rows").as_array().at(0);
  EXPECT_EQ(row.at("cells"), (json::Array{"a", 1, "0s"}));
  EXPECT_EQ(json::string_at(row, {"object", "kind"}), "PartialObjectMetadata");
}

TEST(Server, TablesShowCountsThatMayBePercentagesAsText) {
  TestServer server;
  const std::string budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  server.post(budgets, R"({"metadata":{"name":"a"},"spec":{"minAvailable":1}})");
  auto table = server.request("GET", budgets, {.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"});
  EXPECT_EQ(table.body.at("rows").as_array().at(0).at("cells"), (json::Array{"a", "1", "N/A", 0, "0s"}));
}

TEST(Server, ListsOfTheOtherFormOfEventsNameTheTypeOnce) {
  TestServer server;
  const std::string events = "/apis/events.k8s.io/v1/namespaces/default/events";
  server.post("/api/v1/namespaces/default/events",
              R"({"metadata":{"name":"a"},"involvedObject":{"namespace":"default"},"message":"m"})");
  auto list = server.get(events);
  ASSERT_EQ(list.body.at("items").as_array().size(), 1u);
  const auto& item = list.body.at("items").as_array().at(0);
  EXPECT_EQ(json::string_at(item, {"note"}), "m");
  EXPECT_FALSE(item.as_object().contains("kind"));
}

TEST(Server, AnEndpointSliceHasANewGenerationWithItsLabels) {
  TestServer server;
  const std::string slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
  server.post(slices, R"({"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[]})");
  auto changed = server.request(
      "PATCH", slices + "/a",
      {.body = R"({"metadata":{"annotations":{"x":"y"}}})", .content_type = "application/merge-patch+json"});
  EXPECT_EQ(changed.body.at("metadata").at("generation"), json::Value(1));
  changed =
      server.request("PATCH", slices + "/a",
                     {.body = R"({"metadata":{"labels":{"x":"y"}}})", .content_type = "application/merge-patch+json"});
  EXPECT_EQ(changed.body.at("metadata").at("generation"), json::Value(2));
}

TEST(Server, StrangersMayOnlyAskForHealthAndVersion) {
  TestServer server;
  TestServer::Options nobody{.peer = "", .groups = {}};
  EXPECT_EQ(server.request("GET", "/healthz", nobody).status, 200);
  EXPECT_EQ(server.request("GET", "/version", nobody).status, 200);
  EXPECT_EQ(server.request("GET", "/api/v1/pods", nobody).status, 403);
}

TEST(Server, RolesDecideWhoMayDoWhat) {
  TestServer server;
  TestServer::Options user{.peer = "ann", .groups = {}};
  auto refused = server.request("GET", kConfigMaps, user);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "configmaps is forbidden: User \"ann\" cannot list resource \"configmaps\" in API group \"\" in the "
            "namespace \"default\"");
  auto bound = server.post(
      "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
      R"({"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
                               "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"ann"}]})");
  ASSERT_EQ(bound.status, 201) << bound.text;
  EXPECT_EQ(server.request("GET", kConfigMaps, user).status, 200);
  EXPECT_EQ(server.request("GET", "/api/v1/namespaces/kube-system/configmaps", user).status, 403);
}

TEST(Server, MissingNamespacesAreNamed) {
  TestServer server;
  auto refused = server.post("/api/v1/namespaces/nowhere/configmaps", config_map("a"));
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(refused.message(), "namespaces \"nowhere\" not found");
}

}  // namespace
}  // namespace gangway::apiserver
