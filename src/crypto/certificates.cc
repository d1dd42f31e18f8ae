#include "crypto/certificates.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "crypto/hash.h"
#include "crypto/openssl.h"
#include "sys/entropy.h"

namespace gangway::crypto {
namespace {

constexpr long kX509v3 = 2;

std::time_t seconds(WallTime time) {
  return static_cast<std::time_t>(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
}

Result<std::string> key_pem(EVP_PKEY* key) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return openssl_error("cannot write the private key");
  return bio_text(bio.get());
}

Result<std::string> certificate_pem(X509* certificate) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), certificate) != 1) return openssl_error("cannot write the certificate");
  return bio_text(bio.get());
}

Result<void> add_name(X509_NAME* name, const char* field, const std::string& value) {
  if (X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, as_bytes(value), static_cast<int>(value.size()), -1, 0) !=
      1)
    return openssl_error("the certificate's " + std::string(field) + " \"" + value + "\" cannot be used");
  return {};
}

Result<void> add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1)
    return openssl_error("cannot add the certificate's " + std::string(OBJ_nid2sn(kind)));
  return {};
}

Result<void> push_name(GENERAL_NAMES* names, int type, const std::string& bytes) {
  Owned<GENERAL_NAME> name(GENERAL_NAME_new());
  ASN1_STRING* text = type == GEN_DNS ? ASN1_IA5STRING_new() : ASN1_OCTET_STRING_new();
  ASN1_STRING_set(text, bytes.data(), static_cast<int>(bytes.size()));
  GENERAL_NAME_set0_value(name.get(), type, text);
  if (sk_GENERAL_NAME_push(names, name.get()) == 0) return openssl_error("cannot add a subject alternative name");
  static_cast<void>(name.release());
  return {};
}

Result<std::string> address_bytes(const std::string& text) {
  std::array<char, 16> bytes{};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return std::string(bytes.data(), 4);
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return std::string(bytes.data(), 16);
  return bad_request("\"" + text + "\" is not an IP address");
}

// Built from parts, not from OpenSSL's configuration text, in which a comma in a name would begin another name.
Result<void> add_alternative_names(X509* certificate, const CertificateSpec& spec) {
  if (spec.dns_names.empty() && spec.ip_addresses.empty()) return {};
  const Owned<GENERAL_NAMES> names(GENERAL_NAMES_new());
  for (const auto& dns : spec.dns_names) GW_CHECKED(push_name(names.get(), GEN_DNS, dns));
  for (const auto& ip : spec.ip_addresses) {
    GW_TRY(const std::string bytes, address_bytes(ip));
    GW_CHECKED(push_name(names.get(), GEN_IPADD, bytes));
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) != 1)
    return openssl_error("cannot add the certificate's subject alternative names");
  return {};
}

// 127 random bits: positive, and never the same twice.
Result<void> set_serial(X509* certificate) {
  std::array<std::byte, 16> bytes{};
  sys::system_entropy().fill(bytes);
  bytes[0] = (bytes[0] & std::byte{0x7f}) | std::byte{0x40};
  const Owned<BIGNUM> number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr));
  if (!number || BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) == nullptr)
    return openssl_error("cannot set the certificate's serial number");
  return {};
}

// Everything but issuer, extensions and signature.
Result<Owned<X509>> blank_certificate(EVP_PKEY* key, const CertificateSpec& spec) {
  if (spec.not_after <= spec.not_before) return bad_request("the certificate would end before it begins");
  Owned<X509> certificate(X509_new());
  if (!certificate) return openssl_error("cannot make a certificate");
  X509_set_version(certificate.get(), kX509v3);
  GW_CHECKED(set_serial(certificate.get()));
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), seconds(spec.not_before));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), seconds(spec.not_after));
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (const auto& organization : spec.organizations) GW_CHECKED(add_name(subject, "O", organization));
  GW_CHECKED(add_name(subject, "CN", spec.common_name));
  if (X509_set_pubkey(certificate.get(), key) != 1) return openssl_error("cannot set the certificate's key");
  return certificate;
}

Result<Owned<EVP_PKEY>> new_key() {
  Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("cannot make a key");
  return key;
}

Result<sys::TlsIdentity> sign(X509* certificate, EVP_PKEY* key, EVP_PKEY* signer) {
  if (X509_sign(certificate, signer, EVP_sha256()) == 0) return openssl_error("cannot sign the certificate");
  sys::TlsIdentity identity;
  GW_TRY(identity.certificate_pem, certificate_pem(certificate));
  GW_TRY(identity.key_pem, key_pem(key));
  return identity;
}

std::string string_of(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return {};
  std::string copy(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return copy;
}

std::vector<std::string> name_values(const X509_NAME* name, int kind) {
  std::vector<std::string> values;
  for (int i = X509_NAME_get_index_by_NID(name, kind, -1); i >= 0; i = X509_NAME_get_index_by_NID(name, kind, i))
    values.push_back(string_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, i))));
  return values;
}

std::string first_or_empty(const std::vector<std::string>& values) {
  return values.empty() ? "" : values.front();
}

void read_alternative_names(const X509* certificate, CertificateInfo& info) {
  const Owned<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const auto* value =
        static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type));
    if (type == GEN_DNS) info.dns_names.push_back(string_of(value));
    if (type == GEN_IPADD) {
      char text[INET6_ADDRSTRLEN] = "";
      ::inet_ntop(ASN1_STRING_length(value) == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(value), text, sizeof text);
      info.ip_addresses.emplace_back(text);
    }
  }
}

Result<WallTime> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return openssl_error("cannot read the certificate's validity");
  return WallTime(std::chrono::seconds(::timegm(&parts)));
}

}  // namespace

Result<std::string> new_private_key_pem() {
  GW_TRY(const auto key, new_key());
  return key_pem(key.get());
}

Result<sys::TlsIdentity> new_authority(const std::string& common_name, WallTime not_before, WallTime not_after) {
  GW_TRY(const auto key, new_key());
  CertificateSpec spec;
  spec.common_name = common_name;
  spec.not_before = not_before;
  spec.not_after = not_after;
  GW_TRY(const auto certificate, blank_certificate(key.get(), spec));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  GW_CHECKED(add_extension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE"));
  GW_CHECKED(add_extension(certificate.get(), certificate.get(), NID_key_usage,
                           "critical,digitalSignature,keyEncipherment,keyCertSign"));
  GW_CHECKED(add_extension(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash"));
  return sign(certificate.get(), key.get(), key.get());
}

Result<sys::TlsIdentity> issue(const sys::TlsIdentity& authority, const CertificateSpec& spec) {
  GW_TRY(const auto issuer, read_certificate(authority.certificate_pem));
  GW_TRY(const auto signer, read_private_key(authority.key_pem));
  GW_TRY(const auto key, new_key());
  GW_TRY(const auto certificate, blank_certificate(key.get(), spec));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
  GW_CHECKED(add_extension(certificate.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE"));
  GW_CHECKED(add_extension(certificate.get(), issuer.get(), NID_key_usage, "critical,digitalSignature"));
  GW_CHECKED(add_extension(certificate.get(), issuer.get(), NID_ext_key_usage,
                           spec.use == CertificateUse::kServer ? "serverAuth" : "clientAuth"));
  GW_CHECKED(add_extension(certificate.get(), issuer.get(), NID_authority_key_identifier, "keyid"));
  GW_CHECKED(add_alternative_names(certificate.get(), spec));
  return sign(certificate.get(), key.get(), signer.get());
}

Result<CertificateInfo> inspect(std::string_view pem) {
  GW_TRY(const auto certificate, read_certificate(pem));
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  CertificateInfo info;
  info.common_name = first_or_empty(name_values(subject, NID_commonName));
  info.organizations = name_values(subject, NID_organizationName);
  info.issuer_common_name = first_or_empty(name_values(X509_get_issuer_name(certificate.get()), NID_commonName));
  const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate.get());
  info.serial_hex = to_hex({reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial)),
                            static_cast<std::size_t>(ASN1_STRING_length(serial))});
  info.is_authority = X509_check_ca(certificate.get()) == 1;
  read_alternative_names(certificate.get(), info);
  GW_TRY(info.not_before, time_of(X509_get0_notBefore(certificate.get())));
  GW_TRY(info.not_after, time_of(X509_get0_notAfter(certificate.get())));
  return info;
}

Result<void> verify(std::string_view certificate_pem, std::string_view authority_pem, CertificateUse use,
                    WallTime now) {
  GW_TRY(const auto certificate, read_certificate(certificate_pem));
  GW_TRY(const auto authority, read_certificate(authority_pem));
  const Owned<X509_STORE> store(X509_STORE_new());
  const Owned<X509_STORE_CTX> context(X509_STORE_CTX_new());
  if (!store || !context || X509_STORE_add_cert(store.get(), authority.get()) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), nullptr) != 1)
    return openssl_error("cannot verify the certificate");
  X509_STORE_CTX_set_purpose(context.get(),
                             use == CertificateUse::kServer ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT);
  X509_STORE_CTX_set_time(context.get(), 0, seconds(now));
  if (X509_verify_cert(context.get()) == 1) return {};
  const int why = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  Error error = internal_error(std::string("the certificate is not valid: ") + X509_verify_cert_error_string(why));
  error.reason = Reason::kUnauthorized;
  return error;
}

Result<void> check_pair(const sys::TlsIdentity& identity) {
  GW_TRY(const auto certificate, read_certificate(identity.certificate_pem));
  GW_TRY(const auto key, read_private_key(identity.key_pem));
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return openssl_error("the key does not belong to the certificate");
  return {};
}

}  // namespace gangway::crypto
