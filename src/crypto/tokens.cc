#include "crypto/tokens.h"

#include <openssl/core_names.h>
#include <openssl/err.h>

#include <utility>

#include "base/base64.h"
#include "crypto/hash.h"
#include "crypto/openssl.h"

namespace gangway::crypto {
namespace {

constexpr std::size_t kCoordinate = 32;  // bytes of a P-256 number

// The public half, its name, and the header that every token of this key begins with.
struct PublicKey {
  std::string id;
  std::string header;  // encoded, without the dot
  std::string x, y;    // raw, kCoordinate bytes each
};

Result<std::string> coordinate(const EVP_PKEY* key, const char* name) {
  BIGNUM* read = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &read) != 1) return openssl_error("cannot read the signing key");
  const Owned<BIGNUM> number(read);
  std::string bytes(kCoordinate, '\0');
  if (BN_bn2binpad(number.get(), reinterpret_cast<unsigned char*>(bytes.data()), kCoordinate) < 0)
    return openssl_error("the signing key is not on P-256");
  return bytes;
}

Result<PublicKey> describe(EVP_PKEY* key) {
  char group[32] = "";
  std::size_t group_size = 0;
  if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, &group_size) != 1 ||
      std::string_view(group, group_size) != "prime256v1") {
    ERR_clear_error();
    return bad_request("the signing key is not on P-256");
  }
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size < 0) return openssl_error("cannot encode the signing key");
  PublicKey made;
  made.id = base64url_encode(sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)}));
  OPENSSL_free(der);
  made.header = base64url_encode(R"({"alg":"ES256","kid":")" + made.id + R"("})");
  GW_TRY(made.x, coordinate(key, OSSL_PKEY_PARAM_EC_PUB_X));
  GW_TRY(made.y, coordinate(key, OSSL_PKEY_PARAM_EC_PUB_Y));
  return made;
}

// A token carries r and s side by side, OpenSSL wants them in DER; here and in to_der().
Result<std::string> from_der(std::string_view der) {
  const unsigned char* at = as_bytes(der);
  const Owned<ECDSA_SIG> signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  if (!signature) return openssl_error("cannot read the signature");
  std::string raw(2 * kCoordinate, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  if (BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, kCoordinate) < 0 ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + kCoordinate, kCoordinate) < 0)
    return openssl_error("cannot encode the signature");
  return raw;
}

Result<std::string> to_der(std::string_view raw) {
  const Owned<ECDSA_SIG> signature(ECDSA_SIG_new());
  Owned<BIGNUM> r(BN_bin2bn(as_bytes(raw), kCoordinate, nullptr));
  Owned<BIGNUM> s(BN_bin2bn(as_bytes(raw) + kCoordinate, kCoordinate, nullptr));
  if (!signature || !r || !s || ECDSA_SIG_set0(signature.get(), r.release(), s.release()) != 1)
    return openssl_error("cannot read the signature");
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size < 0) return openssl_error("cannot encode the signature");
  std::string copy(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return copy;
}

Error refused(std::string message) {
  Error error = bad_request(std::move(message));
  error.reason = Reason::kUnauthorized;
  return error;
}

}  // namespace

struct EcTokenSigner::Key {
  Owned<EVP_PKEY> key;
  PublicKey about;
};

struct EcTokenVerifier::Key {
  Owned<EVP_PKEY> key;
  PublicKey about;
};

EcTokenSigner::EcTokenSigner(std::unique_ptr<Key> key) : key_(std::move(key)) {}
EcTokenSigner::~EcTokenSigner() = default;

Result<std::unique_ptr<EcTokenSigner>> EcTokenSigner::create(std::string_view private_key_pem) {
  auto key = std::make_unique<Key>();
  GW_TRY(key->key, read_private_key(private_key_pem));
  GW_TRY(key->about, describe(key->key.get()));
  return std::unique_ptr<EcTokenSigner>(new EcTokenSigner(std::move(key)));
}

Result<std::string> EcTokenSigner::sign(std::string_view claims) const {
  std::string token = key_->about.header + "." + base64url_encode(claims);
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  unsigned char der[128];
  std::size_t size = sizeof der;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_->key.get()) != 1 ||
      EVP_DigestSign(context.get(), der, &size, as_bytes(token), token.size()) != 1)
    return openssl_error("cannot sign the token");
  GW_TRY(const std::string raw, from_der({reinterpret_cast<const char*>(der), size}));
  return token + "." + base64url_encode(raw);
}

EcTokenVerifier::EcTokenVerifier(std::vector<std::unique_ptr<Key>> keys) : keys_(std::move(keys)) {}
EcTokenVerifier::~EcTokenVerifier() = default;

Result<std::unique_ptr<EcTokenVerifier>> EcTokenVerifier::create(const std::vector<std::string>& private_key_pems) {
  std::vector<std::unique_ptr<Key>> keys;
  for (const auto& pem : private_key_pems) {
    auto key = std::make_unique<Key>();
    GW_TRY(key->key, read_private_key(pem));
    GW_TRY(key->about, describe(key->key.get()));
    keys.push_back(std::move(key));
  }
  return std::unique_ptr<EcTokenVerifier>(new EcTokenVerifier(std::move(keys)));
}

Result<std::string> EcTokenVerifier::verify(std::string_view token) const {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos) return refused("the token has no three parts");
  // We take only tokens of our own, and those begin with exactly one of our headers. So the algorithm is never the
  // token's choice, and nothing of it is parsed before its signature is known to be ours.
  const Key* signer = nullptr;
  for (const auto& key : keys_)
    if (key->about.header == token.substr(0, first)) signer = key.get();
  if (signer == nullptr) return refused("the token was not signed by a key of this cluster");
  const auto raw = base64url_decode(token.substr(second + 1));
  if (!raw || raw->size() != 2 * kCoordinate) return refused("the token's signature is malformed");
  GW_TRY(const std::string der, to_der(*raw));
  const std::string_view signed_part = token.substr(0, second);
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  if (!context || EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, signer->key.get()) != 1)
    return openssl_error("cannot verify the token");
  const bool good =
      EVP_DigestVerify(context.get(), as_bytes(der), der.size(), as_bytes(signed_part), signed_part.size()) == 1;
  ERR_clear_error();
  if (!good) return refused("the token's signature is wrong");
  auto claims = base64url_decode(token.substr(first + 1, second - first - 1));
  if (!claims) return refused("the token's claims are malformed");
  return claims;
}

std::string EcTokenVerifier::jwks() const {
  std::string keys;
  for (const auto& key : keys_) {
    if (!keys.empty()) keys += ",";
    keys += R"({"use":"sig","kty":"EC","kid":")" + key->about.id + R"(","crv":"P-256","alg":"ES256","x":")" +
            base64url_encode(key->about.x) + R"(","y":")" + base64url_encode(key->about.y) + R"("})";
  }
  return R"({"keys":[)" + keys + "]}";
}

}  // namespace gangway::crypto
