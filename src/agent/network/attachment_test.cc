#include "agent/network/attachment.h"

#include <gtest/gtest.h>

namespace gangway::agent {
namespace {

TEST(Attachment, ComesBackFromItsRecord) {
  Attachment attachment;
  attachment.given = {{"10.244.4.7"}, "/run/netns/gw12345678-u", "nameserver 10.244.4.1\n", "127.0.0.1\tlocalhost\n"};
  attachment.ports = {{Protocol::kUdp, *parse_v4("255.0.0.1"), 53, {*parse_v4("10.244.4.7"), 5353}}};
  auto back = decode_attachment(encode_attachment(attachment));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->given.addresses, attachment.given.addresses);
  EXPECT_EQ(back->given.netns_path, attachment.given.netns_path);
  EXPECT_EQ(back->given.resolv_conf, attachment.given.resolv_conf);
  EXPECT_EQ(back->given.hosts, attachment.given.hosts);
  ASSERT_EQ(back->ports.size(), 1U);
  EXPECT_EQ(back->ports[0].protocol, Protocol::kUdp);
  EXPECT_EQ(v4_text(back->ports[0].address), "255.0.0.1");
  EXPECT_EQ(back->ports[0].port, 53);
  EXPECT_EQ(back->ports[0].pod, attachment.ports[0].pod);
}

TEST(Attachment, ARecordThatIsNoneIsAnError) {
  for (const char* bad : {"", "{", "[]", R"({"netns": "/run/netns/x"})"}) EXPECT_FALSE(decode_attachment(bad)) << bad;
}

TEST(Attachment, PortsAreThoseThatTheMachineGives) {
  SandboxSpec spec;
  spec.ports = {{8080, 80, "TCP", ""}, {0, 81, "TCP", ""}, {53, 5353, "UDP", "192.0.2.2"}, {9, 9, "QUIC", ""}};
  auto ports = host_ports_of(spec, 7);
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0].port, 8080);
  EXPECT_EQ(ports[0].address, 0U);
  EXPECT_EQ(ports[0].pod, (Backend{7, 80}));
  EXPECT_EQ(ports[1].protocol, Protocol::kUdp);
  EXPECT_EQ(v4_text(ports[1].address), "192.0.2.2");
}

}  // namespace
}  // namespace gangway::agent
