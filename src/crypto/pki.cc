#include "crypto/pki.h"

#include <fmt/format.h>

#include <algorithm>

#include "crypto/certificates.h"
#include "sys/files.h"

namespace gangway::crypto {
namespace {

constexpr auto kDay = std::chrono::hours(24);
constexpr auto kAuthorityLife = 3650 * kDay;
constexpr auto kCertificateLife = 365 * kDay;
// Clocks of machines that just met may differ.
constexpr auto kBackdate = std::chrono::minutes(5);
constexpr mode_t kPrivate = 0600;

Result<void> write_identity(const std::string& base, const sys::TlsIdentity& identity) {
  GW_CHECKED(sys::atomic_write(base + ".key", identity.key_pem, kPrivate));
  return sys::atomic_write(base + ".crt", identity.certificate_pem, 0644);
}

Result<sys::TlsIdentity> read_identity(const std::string& base) {
  sys::TlsIdentity identity;
  GW_TRY(identity.certificate_pem, sys::read_file(base + ".crt"));
  GW_TRY(identity.key_pem, sys::read_file(base + ".key"));
  GW_CHECKED(check_pair(identity));
  return identity;
}

bool covers(const std::vector<std::string>& have, const std::vector<std::string>& want) {
  return std::all_of(want.begin(), want.end(),
                     [&](const auto& name) { return std::find(have.begin(), have.end(), name) != have.end(); });
}

bool is_fresh(const CertificateInfo& info, WallTime now) {
  return info.not_after - now > (info.not_after - info.not_before) / 3;
}

bool is_good(const sys::TlsIdentity& identity, const sys::TlsIdentity& authority, const CertificateSpec& spec,
             WallTime now) {
  auto info = inspect(identity.certificate_pem);
  if (!info || !verify(identity.certificate_pem, authority.certificate_pem, spec.use, now)) return false;
  return is_fresh(*info, now) && info->common_name == spec.common_name &&
         covers(info->organizations, spec.organizations) && covers(info->dns_names, spec.dns_names) &&
         covers(info->ip_addresses, spec.ip_addresses);
}

Result<sys::TlsIdentity> load_or_issue(const std::string& base, const sys::TlsIdentity& authority,
                                       const CertificateSpec& spec, WallTime now) {
  if (auto present = read_identity(base); present && is_good(*present, authority, spec, now)) return present;
  GW_TRY(auto identity, issue(authority, spec));
  GW_CHECKED(write_identity(base, identity));
  return identity;
}

Result<sys::TlsIdentity> load_or_create_authority(const std::string& base, WallTime now) {
  auto present = read_identity(base);
  if (present) {
    auto info = inspect(present->certificate_pem);
    if (info && info->not_after - now > kCertificateLife) return present;
  } else if (present.error().reason != Reason::kNotFound) {
    // Replacing an authority that cannot be read would lock out every client that trusts it.
    return std::move(present.error()).within(fmt::format("{}.crt and {}.key", base, base));
  }
  GW_TRY(auto authority, new_authority("gangway", now - kBackdate, now + kAuthorityLife));
  GW_CHECKED(write_identity(base, authority));
  return authority;
}

Result<std::string> load_or_create_key(const std::string& path) {
  auto present = sys::read_file(path);
  if (present || present.error().reason != Reason::kNotFound) return present;
  GW_TRY(auto key, new_private_key_pem());
  GW_CHECKED(sys::atomic_write(path, key, kPrivate));
  return key;
}

CertificateSpec spec_of(CertificateUse use, std::string name, WallTime now) {
  CertificateSpec spec;
  spec.use = use;
  spec.common_name = std::move(name);
  spec.not_before = now - kBackdate;
  spec.not_after = now + kCertificateLife;
  return spec;
}

Result<ClusterPki> issued_by(const sys::TlsIdentity& authority, const std::string& directory, const PkiSpec& wanted,
                             WallTime now) {
  auto server = spec_of(CertificateUse::kServer, "gangway-apiserver", now);
  server.dns_names = wanted.dns_names;
  server.ip_addresses = wanted.ip_addresses;
  auto admin = spec_of(CertificateUse::kClient, "gangway-admin", now);
  admin.organizations = {"system:masters"};
  auto kubelet_client = spec_of(CertificateUse::kClient, "kube-apiserver-kubelet-client", now);
  kubelet_client.organizations = {"system:masters"};

  ClusterPki pki;
  pki.authority_pem = authority.certificate_pem;
  GW_TRY(pki.server, load_or_issue(directory + "/apiserver", authority, server, now));
  GW_TRY(pki.admin, load_or_issue(directory + "/admin", authority, admin, now));
  GW_TRY(pki.kubelet_client, load_or_issue(directory + "/apiserver-kubelet-client", authority, kubelet_client, now));
  GW_TRY(pki.token_key_pem, load_or_create_key(directory + "/sa.key"));
  return pki;
}

}  // namespace

Result<ClusterPki> load_or_create_pki(const std::string& directory, const PkiSpec& wanted, WallTime now) {
  GW_TRY(auto authority, load_or_create_authority(directory + "/ca", now));
  return issued_by(authority, directory, wanted, now);
}

Result<ClusterPki> renew_pki(const std::string& directory, const PkiSpec& wanted, WallTime now) {
  GW_TRY(auto authority, read_identity(directory + "/ca"));
  return issued_by(authority, directory, wanted, now);
}

bool is_due(const ClusterPki& pki, WallTime now) {
  auto server = inspect(pki.server.certificate_pem);
  auto admin = inspect(pki.admin.certificate_pem);
  auto kubelet_client = inspect(pki.kubelet_client.certificate_pem);
  return !server || !admin || !kubelet_client || !is_fresh(*server, now) || !is_fresh(*admin, now) ||
         !is_fresh(*kubelet_client, now);
}

Result<PkiEnds> ends_of(const ClusterPki& pki) {
  GW_TRY(auto authority, inspect(pki.authority_pem));
  GW_TRY(auto server, inspect(pki.server.certificate_pem));
  GW_TRY(auto admin, inspect(pki.admin.certificate_pem));
  return PkiEnds{authority.not_after, server.not_after, admin.not_after};
}

Result<sys::TlsIdentity> load_or_issue_node_identity(const std::string& directory, const std::string& node,
                                                     WallTime now) {
  GW_TRY(auto authority, read_identity(directory + "/ca"));
  auto spec = spec_of(CertificateUse::kClient, "system:node:" + node, now);
  spec.organizations = {"system:nodes"};
  return load_or_issue(directory + "/node-" + node, authority, spec, now);
}

Result<AgentIdentity> load_or_create_agent_identity(const std::string& directory, const PkiSpec& wanted, WallTime now) {
  GW_TRY(auto authority, load_or_create_authority(directory + "/ca", now));
  auto spec = spec_of(CertificateUse::kServer, "gangway-agent", now);
  spec.dns_names = wanted.dns_names;
  spec.ip_addresses = wanted.ip_addresses;
  AgentIdentity identity;
  identity.authority_pem = authority.certificate_pem;
  GW_TRY(identity.serving, load_or_issue(directory + "/agent", authority, spec, now));
  return identity;
}

}  // namespace gangway::crypto
