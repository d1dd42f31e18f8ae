#include "crypto/ssh_keys.h"

#include <gmock/gmock.h>

#include "crypto/openssl.h"

namespace gangway::crypto {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(SshKeys, AreOfTheFormThatSshReads) {
  const auto key = new_ssh_key();
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_THAT(key->private_pem, StartsWith("-----BEGIN EC PRIVATE KEY-----\n"));
  EXPECT_THAT(key->private_pem, EndsWith("-----END EC PRIVATE KEY-----\n"));
  const auto read = read_private_key(key->private_pem);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(EVP_PKEY_get_bits(read->get()), 521);
  // RFC 5656, 3.1: type, curve and an uncompressed point of 133 bytes, each behind its length; base64 of 172 bytes.
  EXPECT_THAT(key->public_line,
              StartsWith("ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFB"));
  EXPECT_EQ(key->public_line.size(), 20U + 232U + 1U);
  EXPECT_EQ(key->public_line.back(), '\n');
}

TEST(SshKeys, AreNeverTheSame) {
  EXPECT_NE(new_ssh_key()->private_pem, new_ssh_key()->private_pem);
}

}  // namespace
}  // namespace gangway::crypto
