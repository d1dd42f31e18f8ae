#include "apiserver/auth/authenticator.h"

#include <gtest/gtest.h>

#include "apiserver/auth/test_state.h"
#include "apiserver/auth/token_issuer.h"

namespace gangway::apiserver {
namespace {

using namespace std::chrono_literals;

const WallTime kNow{Duration(1767323045s)};  // 2026-01-02T03:04:05Z
const std::string kIssuer = "https://kubernetes.default.svc";

// Signs by putting "signed:" in front, which is as good as any signature as long as nobody forges it.
Result<std::string> sign(std::string_view claims) {
  return "signed:" + std::string(claims);
}
Result<json::Value> verify(std::string_view token) {
  if (!token.starts_with("signed:")) return bad_request("no signature of ours");
  return json::parse(token.substr(7));
}

class AuthenticatorTest : public testing::Test {
 protected:
  AuthenticatorTest()
      : authenticator_({.verify = verify,
                        .issuer = kIssuer,
                        .audiences = {kIssuer},
                        .admin_token = "secret",
                        .admin = {.name = "admin", .uid = {}, .groups = {"system:masters"}, .extra = {}}}),
        issuer_({.sign = sign, .issuer = kIssuer, .audiences = {kIssuer}}) {
    state_.put("serviceaccounts", R"({"metadata":{"name":"runner","namespace":"jobs","uid":"sa1"}})");
    state_.put("pods", R"({"metadata":{"name":"p0","namespace":"jobs","uid":"pod1"},
        "spec":{"serviceAccountName":"runner","nodeName":"n0"}})");
    state_.put("pods", R"({"metadata":{"name":"p1","namespace":"jobs","uid":"pod2"},
        "spec":{"serviceAccountName":"default"}})");
    state_.put("secrets", R"({"metadata":{"name":"s0","namespace":"jobs","uid":"sec1"}})");
    state_.put("nodes", R"({"metadata":{"name":"n0","uid":"node1"}})");
  }

  Result<UserInfo> log_in(const std::string& authorization, WallTime now = kNow) {
    sys::HttpRequest request;
    if (!authorization.empty()) request.headers.add("Authorization", authorization);
    return authenticator_.authenticate(request, state_, now);
  }
  Result<json::Value> issue(const std::string& spec) {
    return issuer_.issue({"jobs", "runner"}, parsed(R"({"spec":)" + spec + "}"), state_, kNow, "id1");
  }
  std::string token(const std::string& spec = "{}") {
    auto answer = issue(spec);
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    return answer ? std::string(json::string_at(*answer, {"status", "token"})) : "";
  }

  TestState state_;
  Authenticator authenticator_;
  TokenIssuer issuer_;
};

TEST_F(AuthenticatorTest, CertificatesNameUserAndGroups) {
  sys::HttpRequest request;
  request.peer.common_name = "system:node:n0";
  request.peer.organizations = {"system:nodes"};
  request.headers.add("Authorization", "Bearer nonsense");
  auto user = authenticator_.authenticate(request, state_, kNow);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "system:node:n0");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"system:nodes", "system:authenticated"}));
}

TEST_F(AuthenticatorTest, WithoutCredentialsTheUserIsAnonymous) {
  for (const char* header : {"", "Basic nonsense", "Bearer", "Bearer "}) {
    auto user = log_in(header);
    ASSERT_TRUE(user) << header;
    EXPECT_EQ(user->name, "system:anonymous");
    EXPECT_EQ(user->groups, std::vector<std::string>{"system:unauthenticated"});
  }
}

TEST_F(AuthenticatorTest, ACertificateThatDoesNotCountIsRefusedUnlessATokenDoes) {
  sys::HttpRequest request;
  request.peer.certificate_error = "unable to get local issuer certificate";
  auto refused = authenticator_.authenticate(request, state_, kNow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kUnauthorized);
  request.headers.add("Authorization", "Bearer secret");
  auto admin = authenticator_.authenticate(request, state_, kNow);
  ASSERT_TRUE(admin);
  EXPECT_EQ(admin->name, "admin");
}

TEST_F(AuthenticatorTest, TheAdministratorsTokenIsKnown) {
  auto admin = log_in("bearer secret");
  ASSERT_TRUE(admin);
  EXPECT_EQ(admin->name, "admin");
  EXPECT_EQ(admin->groups, (std::vector<std::string>{"system:masters", "system:authenticated"}));
  for (const char* wrong : {"Bearer secre", "Bearer secrets", "Bearer secretsecret", "Bearer x"}) {
    auto user = log_in(wrong);
    ASSERT_FALSE(user) << wrong;
    EXPECT_EQ(user.error().reason, Reason::kUnauthorized);
    EXPECT_EQ(user.error().message, "Unauthorized");
  }
}

TEST_F(AuthenticatorTest, ServiceAccountTokensCarryWhoAndWhere) {
  auto user =
      log_in("Bearer " + token(R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p0","uid":"pod1"}})"));
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "system:serviceaccount:jobs:runner");
  EXPECT_EQ(user->uid, "sa1");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:jobs",
                                                    "system:authenticated"}));
  const std::map<std::string, std::vector<std::string>> extra = {
      {"authentication.kubernetes.io/credential-id", {"JTI=id1"}}, {"authentication.kubernetes.io/node-name", {"n0"}},
      {"authentication.kubernetes.io/node-uid", {"node1"}},        {"authentication.kubernetes.io/pod-name", {"p0"}},
      {"authentication.kubernetes.io/pod-uid", {"pod1"}},
  };
  EXPECT_EQ(user->extra, extra);
}

TEST_F(AuthenticatorTest, TokensExpire) {
  auto bearer = "Bearer " + token(R"({"expirationSeconds":600})");
  EXPECT_TRUE(log_in(bearer, kNow + 599s));
  EXPECT_FALSE(log_in(bearer, kNow + 600s));
  EXPECT_FALSE(log_in(bearer, kNow - 1s));
}

TEST_F(AuthenticatorTest, TokensAreForTheirAudience) {
  auto elsewhere = token(R"({"audiences":["vault"]})");
  EXPECT_FALSE(log_in("Bearer " + elsewhere));
  auto identity = authenticator_.review_token(elsewhere, {"x", "vault"}, state_, kNow);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->audiences, std::vector<std::string>{"vault"});
  EXPECT_FALSE(authenticator_.review_token(elsewhere, {"x"}, state_, kNow));
}

TEST_F(AuthenticatorTest, TokensDieWithWhatTheyAreBoundTo) {
  auto plain = "Bearer " + token();
  auto pod = "Bearer " + token(R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p0"}})");
  auto secret = "Bearer " + token(R"({"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"s0"}})");
  auto node = "Bearer " + token(R"({"boundObjectRef":{"kind":"Node","apiVersion":"v1","name":"n0"}})");
  for (const auto& bearer : {plain, pod, secret, node}) EXPECT_TRUE(log_in(bearer));

  state_.erase("nodes", {"", "n0"});
  EXPECT_FALSE(log_in(node));
  EXPECT_TRUE(log_in(pod)) << "a pod's token names the node only for information";
  state_.erase("secrets", {"jobs", "s0"});
  EXPECT_FALSE(log_in(secret));
  state_.put("pods", R"({"metadata":{"name":"p0","namespace":"jobs","uid":"another"}})");
  EXPECT_FALSE(log_in(pod));
  EXPECT_TRUE(log_in(plain));
  state_.put("serviceaccounts", R"({"metadata":{"name":"runner","namespace":"jobs","uid":"another"}})");
  EXPECT_FALSE(log_in(plain));
}

TEST_F(AuthenticatorTest, TokensOutliveTheStartOfADeletionByAMinute) {
  auto bearer = "Bearer " + token(R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p0"}})");
  state_.put("pods", R"({"metadata":{"name":"p0","namespace":"jobs","uid":"pod1",
      "deletionTimestamp":"2026-01-02T03:04:05Z"}})");
  EXPECT_TRUE(log_in(bearer, kNow + 59s));
  EXPECT_FALSE(log_in(bearer, kNow + 60s));
}

TEST_F(AuthenticatorTest, ClaimsThatDoNotFitTogetherAreRefused) {
  auto claims = [](std::string_view iss, std::string_view sub, std::string_view rest) {
    return "Bearer signed:" + std::string(R"({"aud":["https://kubernetes.default.svc"],"exp":1767323100,"iss":")")
                                  .append(iss)
                                  .append(R"(","sub":")")
                                  .append(sub)
                                  .append("\"")
                                  .append(rest)
                                  .append("}");
  };
  const std::string account = R"(,"kubernetes.io":{"namespace":"jobs","serviceaccount":{"name":"runner","uid":"sa1"}})";
  const std::string subject = "system:serviceaccount:jobs:runner";
  EXPECT_TRUE(log_in(claims(kIssuer, subject, account)));
  EXPECT_FALSE(log_in(claims("https://other", subject, account)));
  EXPECT_FALSE(log_in(claims(kIssuer, "system:serviceaccount:jobs:other", account)));
  EXPECT_FALSE(log_in(claims(kIssuer, "system:masters", account)));
  EXPECT_FALSE(log_in(claims(kIssuer, subject, "")));
  EXPECT_FALSE(log_in(R"(Bearer signed:{"iss":"https://kubernetes.default.svc"})")) << "no expiry";
  EXPECT_FALSE(log_in("Bearer signed:[]"));
  EXPECT_FALSE(log_in("Bearer signed:{"));
}

TEST_F(AuthenticatorTest, IssuesClaimsAsKubernetesDoes) {
  auto answer = issue(R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p0"},"expirationSeconds":3607})");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(json::string_at(*answer, {"status", "expirationTimestamp"}), "2026-01-02T04:04:12Z");
  auto claims = *verify(json::string_at(*answer, {"status", "token"}));
  EXPECT_EQ(claims, parsed(R"({"aud":["https://kubernetes.default.svc"],"exp":1798859045,"iat":1767323045,
      "iss":"https://kubernetes.default.svc","jti":"id1","kubernetes.io":{"namespace":"jobs",
      "node":{"name":"n0","uid":"node1"},"pod":{"name":"p0","uid":"pod1"},
      "serviceaccount":{"name":"runner","uid":"sa1"},"warnafter":1767326652},
      "nbf":1767323045,"sub":"system:serviceaccount:jobs:runner"})"));

  answer = issue("{}");
  ASSERT_TRUE(answer);
  EXPECT_EQ(json::serialize(*json::find(*answer, {"spec"})),
            R"({"audiences":["https://kubernetes.default.svc"],"expirationSeconds":3600})");
}

TEST_F(AuthenticatorTest, RefusesTokenRequestsAsKubernetesDoes) {
  struct Case {
    const char* spec;
    Reason reason;
    const char* message;
  };
  const Case cases[] = {
      {R"({"expirationSeconds":5})", Reason::kInvalid,
       "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify "
       "a "
       "duration less than 10 minutes"},
      {R"({"expirationSeconds":99999999999})", Reason::kInvalid,
       "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 99999999999: may "
       "not "
       "specify a duration larger than 2^32 seconds"},
      {R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"nope"}})", Reason::kNotFound,
       "pods \"nope\" not found"},
      {R"({"boundObjectRef":{"kind":"ConfigMap","apiVersion":"v1","name":"c"}})", Reason::kBadRequest,
       "cannot bind token to object of type /v1, Kind=ConfigMap"},
      {R"({"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"s0","uid":"bad"}})", Reason::kConflict,
       "Operation cannot be fulfilled on Secret \"s0\": the UID in the bound object reference (bad) does not match the "
       "UID in record. The object might have been deleted and then recreated"},
      {R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p1"}})", Reason::kBadRequest,
       "cannot bind token for serviceaccount \"runner\" to pod running with different serviceaccount name."},
  };
  for (const auto& c : cases) {
    auto answer = issue(c.spec);
    ASSERT_FALSE(answer) << c.spec;
    EXPECT_EQ(answer.error().reason, c.reason);
    EXPECT_EQ(answer.error().message, c.message);
  }
  auto missing = issuer_.issue({"jobs", "nosa"}, parsed("{}"), state_, kNow, "id1");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "serviceaccounts \"nosa\" not found");
}

class ImpersonationTest : public testing::Test {
 protected:
  ImpersonationTest() {
    state_.put("clusterroles.rbac.authorization.k8s.io", R"({"metadata":{"name":"actor"},"rules":[
        {"apiGroups":[""],"resources":["users"],"resourceNames":["bob","system:anonymous"],"verbs":["impersonate"]},
        {"apiGroups":[""],"resources":["groups"],"resourceNames":["devs"],"verbs":["impersonate"]},
        {"apiGroups":[""],"resources":["serviceaccounts"],"verbs":["impersonate"]},
        {"apiGroups":["authentication.k8s.io"],"resources":["userextras/scopes","uids"],"verbs":["impersonate"]}]})");
    state_.put("clusterrolebindings.rbac.authorization.k8s.io", R"({"metadata":{"name":"actor"},
        "roleRef":{"kind":"ClusterRole","name":"actor"},"subjects":[{"kind":"User","name":"alice"}]})");
  }

  using Headers = std::vector<std::pair<std::string, std::string>>;
  Result<UserInfo> act(const Headers& entries, const std::string& as = "alice") {
    sys::HttpHeaders headers;
    for (const auto& [name, value] : entries) headers.add(name, value);
    return impersonate(headers, {.name = as, .uid = {}, .groups = {}, .extra = {}}, *RbacPolicy::of(state_));
  }

  TestState state_;
};

TEST_F(ImpersonationTest, ActsAsWhomThePolicyAllows) {
  EXPECT_EQ(act({})->name, "alice");
  auto bob = act({{"Impersonate-User", "bob"},
                  {"impersonate-group", "devs"},
                  {"Impersonate-Uid", "7"},
                  {"Impersonate-Extra-Scopes", "a"},
                  {"Impersonate-Extra-Scopes", "b"}});
  ASSERT_TRUE(bob) << bob.error().message;
  EXPECT_EQ(
      *bob,
      (UserInfo{
          .name = "bob", .uid = "7", .groups = {"devs", "system:authenticated"}, .extra = {{"scopes", {"a", "b"}}}}));
  auto account = act({{"Impersonate-User", "system:serviceaccount:default:x"}});
  ASSERT_TRUE(account);
  EXPECT_EQ(account->groups, (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:default",
                                                       "system:authenticated"}));
  auto anonymous = act({{"Impersonate-User", "system:anonymous"}});
  ASSERT_TRUE(anonymous);
  EXPECT_EQ(anonymous->groups, std::vector<std::string>{"system:unauthenticated"});
}

TEST_F(ImpersonationTest, RefusesWhatThePolicyDoesNotAllow) {
  auto refused = act({{"Impersonate-User", "bob"}}, "mallory");
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "users \"bob\" is forbidden: User \"mallory\" cannot impersonate resource \"users\" in API group \"\" at the "
      "cluster scope");
  refused = act({{"Impersonate-User", "system:serviceaccount:default:x"}}, "mallory");
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "serviceaccounts \"x\" is forbidden: User \"mallory\" cannot impersonate resource \"serviceaccounts\" in API "
      "group \"\" in the namespace \"default\"");
  EXPECT_FALSE(act({{"Impersonate-User", "bob"}, {"Impersonate-Group", "system:masters"}}));
  EXPECT_FALSE(act({{"Impersonate-User", "bob"}, {"Impersonate-Extra-Other", "x"}}));
  auto nobody = act({{"Impersonate-Group", "devs"}});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().reason, Reason::kInternalError);
}

TEST_F(ImpersonationTest, ExtraKeysAreUnescaped) {
  auto bob = act({{"Impersonate-User", "bob"}, {"Impersonate-Extra-Sc%6fpes", "a"}});
  ASSERT_TRUE(bob);
  EXPECT_EQ(bob->extra.begin()->first, "scopes");
  EXPECT_FALSE(act({{"Impersonate-User", "bob"}, {"Impersonate-Extra-Scopes%2", "a"}}));
}

}  // namespace
}  // namespace gangway::apiserver
