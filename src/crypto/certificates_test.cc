#include "crypto/certificates.h"

#include <gtest/gtest.h>

namespace gangway::crypto {
namespace {

using std::chrono::hours;

const WallTime kNow = parse_rfc3339("2026-03-04T05:06:07Z").value();

CertificateSpec spec_for(CertificateUse use) {
  return {.use = use,
          .common_name = "gangway",
          .organizations = {"system:masters", "second, with a comma"},
          .dns_names = {"localhost", "kubernetes.default.svc"},
          .ip_addresses = {"127.0.0.1", "10.96.0.1", "::1"},
          .not_before = kNow - hours(1),
          .not_after = kNow + hours(24)};
}

struct Authority {
  sys::TlsIdentity identity = new_authority("gangway-ca", kNow - hours(1), kNow + hours(48)).value();
};

TEST(Certificates, SayWhatTheyWereMadeWith) {
  const Authority ca;
  const auto issued = issue(ca.identity, spec_for(CertificateUse::kServer)).value();
  const auto info = inspect(issued.certificate_pem).value();
  EXPECT_EQ(info.common_name, "gangway");
  EXPECT_EQ(info.organizations, (std::vector<std::string>{"system:masters", "second, with a comma"}));
  EXPECT_EQ(info.dns_names, (std::vector<std::string>{"localhost", "kubernetes.default.svc"}));
  EXPECT_EQ(info.ip_addresses, (std::vector<std::string>{"127.0.0.1", "10.96.0.1", "::1"}));
  EXPECT_EQ(info.issuer_common_name, "gangway-ca");
  EXPECT_EQ(info.not_before, kNow - hours(1));
  EXPECT_EQ(info.not_after, kNow + hours(24));
  EXPECT_FALSE(info.is_authority);
  EXPECT_EQ(info.serial_hex.size(), 32U);
  EXPECT_TRUE(check_pair(issued));

  const auto authority = inspect(ca.identity.certificate_pem).value();
  EXPECT_TRUE(authority.is_authority);
  EXPECT_EQ(authority.common_name, "gangway-ca");
  EXPECT_EQ(authority.issuer_common_name, "gangway-ca");
}

TEST(Certificates, AreNeverTheSameTwice) {
  const Authority ca;
  const auto first = issue(ca.identity, spec_for(CertificateUse::kServer)).value();
  const auto second = issue(ca.identity, spec_for(CertificateUse::kServer)).value();
  EXPECT_NE(inspect(first.certificate_pem)->serial_hex, inspect(second.certificate_pem)->serial_hex);
  EXPECT_NE(first.key_pem, second.key_pem);
  EXPECT_FALSE(check_pair({first.certificate_pem, second.key_pem}));
}

TEST(Certificates, VerifyOnlyForTheirAuthorityUseAndTime) {
  const Authority ca;
  const Authority other;
  const auto server = issue(ca.identity, spec_for(CertificateUse::kServer))->certificate_pem;
  const auto client = issue(ca.identity, spec_for(CertificateUse::kClient))->certificate_pem;
  struct Case {
    const char* name;
    const std::string& certificate;
    const std::string& authority;
    CertificateUse use;
    WallTime at;
    bool want;
  };
  const std::string& ours = ca.identity.certificate_pem;
  const std::string& theirs = other.identity.certificate_pem;
  for (const auto& [name, certificate, authority, use, at, want] :
       {Case{"server", server, ours, CertificateUse::kServer, kNow, true},
        Case{"client", client, ours, CertificateUse::kClient, kNow, true},
        Case{"a server's as a client's", server, ours, CertificateUse::kClient, kNow, false},
        Case{"a client's as a server's", client, ours, CertificateUse::kServer, kNow, false},
        Case{"another authority of the same name", server, theirs, CertificateUse::kServer, kNow, false},
        Case{"issued by one that is no authority", server, client, CertificateUse::kServer, kNow, false},
        Case{"too early", server, ours, CertificateUse::kServer, kNow - hours(2), false},
        Case{"expired", server, ours, CertificateUse::kServer, kNow + hours(25), false}}) {
    const auto verdict = verify(certificate, authority, use, at);
    EXPECT_EQ(verdict.has_value(), want) << name;
    if (!verdict) {
      EXPECT_EQ(verdict.error().reason, Reason::kUnauthorized) << name;
    }
  }
}

TEST(Certificates, RefuseBadInput) {
  const Authority ca;
  EXPECT_FALSE(inspect("not a certificate"));
  EXPECT_FALSE(inspect(""));
  EXPECT_FALSE(inspect(ca.identity.certificate_pem.substr(0, 100)));
  EXPECT_FALSE(issue({"x", "y"}, spec_for(CertificateUse::kServer)));
  auto spec = spec_for(CertificateUse::kServer);
  spec.ip_addresses = {"300.1.1.1"};
  const auto wrong = issue(ca.identity, spec);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "\"300.1.1.1\" is not an IP address");
  spec = spec_for(CertificateUse::kServer);
  spec.not_after = spec.not_before;
  EXPECT_FALSE(issue(ca.identity, spec));
  spec = spec_for(CertificateUse::kServer);
  spec.common_name = std::string(65, 'x');
  EXPECT_FALSE(issue(ca.identity, spec));
}

}  // namespace
}  // namespace gangway::crypto
