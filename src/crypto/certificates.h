// Keys and X.509 certificates in PEM: our own authority, and what it issues. EC P-256 throughout.
//
// Pure but for the key generator's randomness; usable from any thread. A key pair costs about 50 µs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sys/tls.h"

namespace gangway::crypto {

// A new P-256 private key, PKCS #8.
Result<std::string> new_private_key_pem();

enum class CertificateUse : std::uint8_t { kServer, kClient };

struct CertificateSpec {
  CertificateUse use = CertificateUse::kServer;
  std::string common_name;
  std::vector<std::string> organizations;  // of a client: its groups
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  WallTime not_before{};
  WallTime not_after{};
};

Result<sys::TlsIdentity> new_authority(const std::string& common_name, WallTime not_before, WallTime not_after);
// A certificate for a new key, signed by `authority`.
Result<sys::TlsIdentity> issue(const sys::TlsIdentity& authority, const CertificateSpec& spec);

struct CertificateInfo {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::string issuer_common_name;
  std::string serial_hex;
  bool is_authority = false;
  WallTime not_before{};
  WallTime not_after{};
};

// The first certificate of `pem`.
Result<CertificateInfo> inspect(std::string_view pem);
// Whether `authority_pem` issued `certificate_pem` for `use`, and both are valid at `now`.
Result<void> verify(std::string_view certificate_pem, std::string_view authority_pem, CertificateUse use, WallTime now);
// Whether the key belongs to the certificate.
Result<void> check_pair(const sys::TlsIdentity& identity);

}  // namespace gangway::crypto
