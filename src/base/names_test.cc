#include "base/names.h"

#include <gtest/gtest.h>

namespace gangway::names {
namespace {

constexpr const char* kSubdomainMessage =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr const char* kLabelMessage =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr const char* kNamePartMessage =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

struct Case {
  std::string value;
  Messages want;
};

template <class Check>
void expect(Check check, const std::vector<Case>& cases) {
  for (const auto& c : cases) EXPECT_EQ(check(c.value), c.want) << "\"" << c.value << "\"";
}

TEST(NamesTest, Dns1123Label) {
  expect(check_dns1123_label, {{"a", {}},
                               {"a-b-1", {}},
                               {"1", {}},
                               {std::string(63, 'a'), {}},
                               {std::string(64, 'a'), {"must be no more than 63 characters"}},
                               {"a.b", {"must not contain dots"}},
                               {"", {kLabelMessage}},
                               {"-a", {kLabelMessage}},
                               {"a-", {kLabelMessage}},
                               {"A", {kLabelMessage}},
                               {"a_b", {kLabelMessage}},
                               {"a.", {kLabelMessage}}});
}

TEST(NamesTest, Dns1123Subdomain) {
  expect(check_dns1123_subdomain, {{"a", {}},
                                   {"a.b-c.d", {}},
                                   {"127.0.0.1", {}},
                                   {std::string(253, 'a'), {}},
                                   {std::string(254, 'a'), {"must be no more than 253 characters"}},
                                   {std::string(254, 'A'), {"must be no more than 253 characters", kSubdomainMessage}},
                                   {"", {kSubdomainMessage}},
                                   {".a", {kSubdomainMessage}},
                                   {"a..b", {kSubdomainMessage}},
                                   {"a.-b", {kSubdomainMessage}},
                                   {"a b", {kSubdomainMessage}},
                                   {std::string("a\0b", 3), {kSubdomainMessage}}});
}

TEST(NamesTest, Dns1035Label) {
  const std::string message =
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
      "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
      "'[a-z]([-a-z0-9]*[a-z0-9])?')";
  expect(check_dns1035_label, {{"a-1", {}}, {"1a", {message}}, {"a.b", {message}}, {"", {message}}});
}

TEST(NamesTest, QualifiedName) {
  expect(check_qualified_name,
         {{"app", {}},
          {"App_1.x", {}},
          {"example.com/app", {}},
          {"/app", {"prefix part must be non-empty"}},
          {"Example/app", {std::string("prefix part ") + kSubdomainMessage}},
          {"", {"name part must be non-empty", kNamePartMessage}},
          {"example.com/", {"name part must be non-empty", kNamePartMessage}},
          {"-a", {kNamePartMessage}},
          {std::string(64, 'a'), {"name part must be no more than 63 characters"}},
          {"a/b/c",
           {"a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
            "'example.com/MyName')"}}});
}

TEST(NamesTest, LabelValue) {
  const std::string message =
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
      "and "
      "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
      "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
  expect(check_label_value, {{"", {}},
                             {"MyValue", {}},
                             {"a b", {message}},
                             {"a/b", {message}},
                             {"_a", {message}},
                             {std::string(64, 'a'), {"must be no more than 63 characters"}}});
}

TEST(NamesTest, Ports) {
  const std::string letters = "must contain at least one letter (a-z)";
  const std::string charset = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
  expect(check_port_name, {{"http", {}},
                           {"80", {letters}},
                           {"", {charset, letters}},
                           {"HTTP", {charset, letters}},
                           {"a--b", {"must not contain consecutive hyphens"}},
                           {"-a", {"must not begin or end with a hyphen"}},
                           {"abcdefghijklmnop", {"must be no more than 15 characters"}}});
  EXPECT_EQ(check_port_number(1), Messages());
  EXPECT_EQ(check_port_number(65535), Messages());
  EXPECT_EQ(check_port_number(0), Messages{"must be between 1 and 65535, inclusive"});
  EXPECT_EQ(check_port_number(65536), Messages{"must be between 1 and 65535, inclusive"});
}

TEST(NamesTest, EnvironmentVariables) {
  const std::string message =
      "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not "
      "start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is "
      "'[-._a-zA-Z][-._a-zA-Z0-9]*')";
  expect(check_env_var_name, {{"MY_ENV.NAME", {}},
                              {"-x", {}},
                              {"1X", {message}},
                              {"", {message}},
                              {"a=b", {message}},
                              {".", {"must not be '.'"}},
                              {"..", {"must not be '..'"}},
                              {"..x", {"must not start with '..'"}}});
  const std::string relaxed =
      "a valid environment variable name must consist only of printable ASCII characters other than '='";
  expect(check_relaxed_env_var_name, {{"1X y", {}},
                                      {"", {"environment variable name must be non-empty"}},
                                      {"a=b", {relaxed}},
                                      {"\xC3\xA4", {relaxed}},
                                      {"a\n", {relaxed}}});
}

TEST(NamesTest, ConfigKeysPathSegmentsAndTheRest) {
  const std::string key =
      "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
      "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
  expect(check_config_key,
         {{"tls.crt", {}}, {".hidden", {}}, {"", {key}}, {"a/b", {key}}, {"..", {"must not be '..'"}}});
  expect(check_path_segment, {{"system:node", {}},
                              {".", {"may not be '.'"}},
                              {"..", {"may not be '..'"}},
                              {"a/b%", {"may not contain '/'", "may not contain '%'"}}});
  EXPECT_TRUE(check_c_identifier("_a1").empty());
  EXPECT_EQ(check_c_identifier("1a").size(), 1U);
  EXPECT_TRUE(check_percent("93%").empty());
  EXPECT_EQ(check_percent("%").size(), 1U);
}

TEST(NamesTest, GeneratedNamesAreCheckedWithoutTheirDash) {
  EXPECT_EQ(mask_trailing_dash("web-"), "wea");
  EXPECT_EQ(mask_trailing_dash("web--"), "weba");
  EXPECT_EQ(mask_trailing_dash("web"), "web");
  EXPECT_EQ(mask_trailing_dash("-"), "-");
}

}  // namespace
}  // namespace gangway::names
