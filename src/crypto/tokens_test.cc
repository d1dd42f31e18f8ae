#include "crypto/tokens.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "crypto/certificates.h"

namespace gangway::crypto {
namespace {

constexpr std::string_view kClaims = R"({"sub":"system:serviceaccount:default:default","exp":1})";

struct Keys {
  std::string pem = new_private_key_pem().value();
  std::unique_ptr<EcTokenSigner> signer = EcTokenSigner::create(pem).value();
  std::unique_ptr<EcTokenVerifier> verifier = EcTokenVerifier::create({pem}).value();
};

TEST(Tokens, GiveTheirClaimsBack) {
  const Keys keys;
  const std::string token = keys.signer->sign(kClaims).value();
  const auto claims = keys.verifier->verify(token);
  ASSERT_TRUE(claims) << claims.error().message;
  EXPECT_EQ(*claims, kClaims);
}

TEST(Tokens, OfReplacedKeysStayValidWhileTheKeyIsKept) {
  const Keys old_keys;
  const Keys new_keys;
  const auto verifier = EcTokenVerifier::create({new_keys.pem, old_keys.pem}).value();
  EXPECT_TRUE(verifier->verify(old_keys.signer->sign(kClaims).value()));
  EXPECT_TRUE(verifier->verify(new_keys.signer->sign(kClaims).value()));
  EXPECT_FALSE(new_keys.verifier->verify(old_keys.signer->sign(kClaims).value()));
}

TEST(Tokens, ChangedInAnyCharacterAreRefused) {
  const Keys keys;
  const std::string token = keys.signer->sign(kClaims).value();
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    const auto verdict = keys.verifier->verify(changed);
    ASSERT_FALSE(verdict) << "offset " << i;
    EXPECT_EQ(verdict.error().reason, Reason::kUnauthorized) << "offset " << i;
  }
  for (std::size_t size = 0; size < token.size(); ++size) EXPECT_FALSE(keys.verifier->verify(token.substr(0, size)));
  EXPECT_FALSE(keys.verifier->verify(token + "A"));
  EXPECT_FALSE(keys.verifier->verify(token + "."));
}

TEST(Tokens, CannotChooseTheirAlgorithm) {
  const Keys keys;
  const std::string token = keys.signer->sign(kClaims).value();
  const std::string rest = token.substr(token.find('.'));
  for (const std::string_view header : {R"({"alg":"none"})", R"({"alg":"HS256"})", R"({"alg":"ES256"})", "{}", ""})
    EXPECT_FALSE(keys.verifier->verify(base64url_encode(header) + rest)) << header;
  const std::string body = token.substr(0, token.rfind('.'));
  EXPECT_FALSE(keys.verifier->verify(body + "."));
  // r = s = 0, the classic forgery against careless verifiers.
  EXPECT_FALSE(keys.verifier->verify(body + "." + base64url_encode(std::string(64, '\0'))));
}

TEST(Tokens, NameTheirKeyInTheKeySet) {
  const Keys keys;
  const std::string jwks = keys.verifier->jwks();
  const std::string token = keys.signer->sign(kClaims).value();
  const std::string header = base64url_decode(token.substr(0, token.find('.'))).value();
  const auto start = header.find("\"kid\":\"");
  ASSERT_NE(start, std::string::npos) << header;
  const std::string kid = header.substr(start, header.find('"', start + 7) - start + 1);
  EXPECT_NE(jwks.find(kid), std::string::npos) << jwks;
  EXPECT_TRUE(jwks.starts_with(R"({"keys":[{"use":"sig","kty":"EC",)")) << jwks;
  EXPECT_EQ(EcTokenVerifier::create({}).value()->jwks(), R"({"keys":[]})");
}

TEST(Tokens, NeedAP256Key) {
  EXPECT_FALSE(EcTokenSigner::create("nonsense"));
  EXPECT_FALSE(EcTokenVerifier::create({"nonsense"}));
}

}  // namespace
}  // namespace gangway::crypto
