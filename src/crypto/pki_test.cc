#include "crypto/pki.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "crypto/certificates.h"
#include "crypto/pki_keeper.h"
#include "sys/files.h"
#include "testing/manual_loop.h"

namespace gangway::crypto {
namespace {

using std::chrono::hours;
constexpr auto kDay = hours(24);

class Pki : public ::testing::Test {
 protected:
  Pki() { directory_ = (std::filesystem::temp_directory_path() / "gangway-pki-XXXXXX").string(); }
  void SetUp() override { ASSERT_NE(mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  const PkiSpec spec_{{"localhost"}, {"127.0.0.1"}};
  std::string directory_;
  testing::ManualLoop loop_;
  const WallTime start_ = loop_.clock().wall();
};

// A year each, renewed when less than a third of it is left: after 244 days at the latest.
TEST_F(Pki, RenewsAtAStartWhatNearsItsEnd) {
  auto first = load_or_create_pki(directory_, spec_, start_).value();
  EXPECT_EQ(ends_of(first)->server, start_ + 365 * kDay);
  auto fresh = load_or_create_pki(directory_, spec_, start_ + 240 * kDay).value();
  EXPECT_EQ(fresh.server.certificate_pem, first.server.certificate_pem);
  auto later = load_or_create_pki(directory_, spec_, start_ + 250 * kDay).value();
  EXPECT_EQ(ends_of(later)->server, start_ + (250 + 365) * kDay);
  EXPECT_EQ(ends_of(later)->admin, start_ + (250 + 365) * kDay);
  EXPECT_EQ(later.authority_pem, first.authority_pem) << "clients hold on to it";
  EXPECT_EQ(later.token_key_pem, first.token_key_pem);
}

TEST_F(Pki, ARunningClusterKeepsItsAuthority) {
  auto first = load_or_create_pki(directory_, spec_, start_).value();
  auto last_year = start_ + 3500 * kDay;
  auto running = renew_pki(directory_, spec_, last_year).value();
  EXPECT_EQ(running.authority_pem, first.authority_pem);
  EXPECT_NE(running.server.certificate_pem, first.server.certificate_pem);
  EXPECT_NE(load_or_create_pki(directory_, spec_, last_year)->authority_pem, first.authority_pem);
}

TEST_F(Pki, IsRenewedWhileTheClusterRuns) {
  auto first = load_or_create_pki(directory_, spec_, start_).value();
  std::vector<ClusterPki> used;
  PkiKeeper keeper(loop_, directory_, spec_, first, [&](const ClusterPki& renewed) -> Result<void> {
    used.push_back(renewed);
    return {};
  });
  keeper.start();
  loop_.run_until_idle();
  loop_.advance(240 * kDay);
  EXPECT_TRUE(used.empty());
  EXPECT_EQ(keeper.ends()->server, start_ + 365 * kDay);
  loop_.advance(10 * kDay);
  ASSERT_EQ(used.size(), 1u);
  auto now = loop_.clock().wall();
  EXPECT_TRUE(verify(used[0].server.certificate_pem, first.authority_pem, CertificateUse::kServer, now + 350 * kDay));
  EXPECT_TRUE(verify(used[0].admin.certificate_pem, first.authority_pem, CertificateUse::kClient, now));
  EXPECT_EQ(keeper.ends()->server, ends_of(used[0])->server);
}

TEST_F(Pki, WhatCouldNotBeUsedIsOfferedAgain) {
  auto first = load_or_create_pki(directory_, spec_, start_).value();
  int offers = 0;
  PkiKeeper keeper(loop_, directory_, spec_, first, [&](const ClusterPki&) -> Result<void> {
    if (++offers < 3) return internal_error("the disk is full");
    return {};
  });
  keeper.start();
  loop_.run_until_idle();
  loop_.advance(260 * kDay);
  EXPECT_EQ(offers, 3);
  EXPECT_GT(keeper.ends()->server, start_ + 365 * kDay);
}

TEST_F(Pki, TheServersClientCertificateIsTheOneThatKubeletsKnow) {
  const auto pki = load_or_create_pki(directory_, spec_, start_).value();
  const auto info = inspect(pki.kubelet_client.certificate_pem);
  EXPECT_EQ(info->common_name, "kube-apiserver-kubelet-client");
  EXPECT_EQ(info->organizations, std::vector<std::string>{"system:masters"});
  EXPECT_TRUE(verify(pki.kubelet_client.certificate_pem, pki.authority_pem, CertificateUse::kClient, start_));
}

TEST_F(Pki, AnAgentBesideTheServerIsCertifiedByTheCluster) {
  const auto pki = load_or_create_pki(directory_, spec_, start_).value();
  const auto agent = load_or_create_agent_identity(directory_, {{"n0"}, {"10.0.0.1"}}, start_);
  ASSERT_TRUE(agent) << agent.error().message;
  EXPECT_EQ(agent->authority_pem, pki.authority_pem);
  EXPECT_TRUE(verify(agent->serving.certificate_pem, pki.authority_pem, CertificateUse::kServer, start_));
  EXPECT_EQ(inspect(agent->serving.certificate_pem)->dns_names, std::vector<std::string>{"n0"});
  const auto again = load_or_create_agent_identity(directory_, {{"n0"}, {}}, start_);
  EXPECT_EQ(again->serving.certificate_pem, agent->serving.certificate_pem);
  const auto more = load_or_create_agent_identity(directory_, {{"n0", "n1"}, {}}, start_);
  EXPECT_NE(more->serving.certificate_pem, agent->serving.certificate_pem);
}

TEST_F(Pki, AnAgentElsewhereIsItsOwnAuthority) {
  const auto agent = load_or_create_agent_identity(directory_, {{"n0"}, {}}, start_);
  ASSERT_TRUE(agent);
  EXPECT_TRUE(verify(agent->serving.certificate_pem, agent->authority_pem, CertificateUse::kServer, start_));
  EXPECT_EQ(load_or_create_agent_identity(directory_, {{"n0"}, {}}, start_)->authority_pem, agent->authority_pem);
}

}  // namespace
}  // namespace gangway::crypto
