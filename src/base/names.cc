#include "base/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace gangway::names {
namespace {

// The expressions are part of the messages. They are not run: the predicates below say the same by hand, which costs
// no automaton and no allocation.
constexpr std::string_view kLabelExpression = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kSubdomainExpression = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view kDns1035Expression = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kQualifiedExpression = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view kLabelValueExpression = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
constexpr std::string_view kEnvVarExpression = "[-._a-zA-Z][-._a-zA-Z0-9]*";
constexpr std::string_view kConfigKeyExpression = "[-._a-zA-Z0-9]+";
constexpr std::string_view kIdentifierExpression = "[A-Za-z_][A-Za-z0-9_]*";
constexpr std::string_view kPercentExpression = "[0-9]+%";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_letter(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}
bool is_lower_alnum(char c) {
  return is_lower(c) || is_digit(c);
}
bool is_alnum(char c) {
  return is_letter(c) || is_digit(c);
}

template <class Predicate>
bool all(std::string_view text, Predicate predicate) {
  return std::all_of(text.begin(), text.end(), predicate);
}

bool matches_label(std::string_view text) {
  return !text.empty() && is_lower_alnum(text.front()) && is_lower_alnum(text.back()) &&
         all(text, [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool matches_subdomain(std::string_view text) {
  while (true) {
    auto dot = text.find('.');
    if (!matches_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool matches_qualified(std::string_view text) {
  return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) &&
         all(text, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_env_char(char c) {
  return is_alnum(c) || c == '-' || c == '.' || c == '_';
}

std::string expression_message(std::string_view rule, std::string_view expression,
                               std::initializer_list<std::string_view> examples) {
  std::string quoted;
  for (auto example : examples) quoted += fmt::format("{}'{}', ", quoted.empty() ? "" : " or ", example);
  // The comma stays in front of "or": clients compare these texts.
  return fmt::format("{} (e.g. {}regex used for validation is '{}')", rule, quoted, expression);
}

std::string qualified_name_message() {
  return expression_message(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      kQualifiedExpression, {"MyName", "my.name", "123-abc"});
}

void add_directory_messages(std::string_view value, Messages& messages) {
  if (value == ".") {
    messages.emplace_back("must not be '.'");
  } else if (value == "..") {
    messages.emplace_back("must not be '..'");
  } else if (value.starts_with("..")) {
    messages.emplace_back("must not start with '..'");
  }
}

}  // namespace

std::string max_length_message(std::size_t length) {
  return fmt::format("must be no more than {} characters", length);
}

std::string range_message(long long low, long long high) {
  return fmt::format("must be between {} and {}, inclusive", low, high);
}

Messages check_dns1123_label(std::string_view value) {
  Messages messages;
  if (value.size() > kMaxLabelLength) messages.push_back(max_length_message(kMaxLabelLength));
  if (matches_label(value)) return messages;
  if (matches_subdomain(value)) {
    messages.emplace_back("must not contain dots");
  } else {
    messages.push_back(expression_message(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character",
        kLabelExpression, {"my-name", "123-abc"}));
  }
  return messages;
}

Messages check_dns1123_subdomain(std::string_view value) {
  Messages messages;
  if (value.size() > kMaxSubdomainLength) messages.push_back(max_length_message(kMaxSubdomainLength));
  if (!matches_subdomain(value)) {
    messages.push_back(expression_message(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character",
        kSubdomainExpression, {"example.com"}));
  }
  return messages;
}

Messages check_dns1035_label(std::string_view value) {
  Messages messages;
  if (value.size() > kMaxLabelLength) messages.push_back(max_length_message(kMaxLabelLength));
  if (!matches_label(value) || !is_lower(value.front())) {
    messages.push_back(expression_message(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character",
        kDns1035Expression, {"my-name", "abc-123"}));
  }
  return messages;
}

Messages check_qualified_name(std::string_view value) {
  Messages messages;
  auto name = value;
  if (auto slash = value.find('/'); slash != std::string_view::npos) {
    auto prefix = value.substr(0, slash);
    name = value.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      return {"a qualified name " + qualified_name_message() +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    if (prefix.empty()) messages.emplace_back("prefix part must be non-empty");
    if (!prefix.empty()) {
      for (auto& message : check_dns1123_subdomain(prefix)) messages.push_back("prefix part " + message);
    }
  }
  if (name.empty()) messages.emplace_back("name part must be non-empty");
  if (name.size() > kMaxLabelLength) messages.push_back("name part " + max_length_message(kMaxLabelLength));
  if (!matches_qualified(name)) messages.push_back("name part " + qualified_name_message());
  return messages;
}

Messages check_label_value(std::string_view value) {
  Messages messages;
  if (value.size() > kMaxLabelLength) messages.push_back(max_length_message(kMaxLabelLength));
  if (!value.empty() && !matches_qualified(value)) {
    messages.push_back(expression_message(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character",
        kLabelValueExpression, {"MyValue", "my_value", "12345"}));
  }
  return messages;
}

Messages check_port_name(std::string_view value) {
  constexpr std::size_t kMaxPortNameLength = 15;
  Messages messages;
  if (value.size() > kMaxPortNameLength) messages.push_back(max_length_message(kMaxPortNameLength));
  if (value.empty() || !all(value, [](char c) { return is_lower_alnum(c) || c == '-'; })) {
    messages.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (std::none_of(value.begin(), value.end(), is_lower)) {
    messages.emplace_back("must contain at least one letter (a-z)");
  }
  if (value.find("--") != std::string_view::npos) messages.emplace_back("must not contain consecutive hyphens");
  if (value.starts_with('-') || value.ends_with('-')) messages.emplace_back("must not begin or end with a hyphen");
  return messages;
}

Messages check_port_number(long long value) {
  if (value >= 1 && value <= 65535) return {};
  return {range_message(1, 65535)};
}

Messages check_env_var_name(std::string_view value) {
  Messages messages;
  if (value.empty() || is_digit(value.front()) || !all(value, is_env_char)) {
    messages.push_back(expression_message(
        "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must "
        "not start with a digit",
        kEnvVarExpression, {"my.env-name", "MY_ENV.NAME", "MyEnvName1"}));
  }
  add_directory_messages(value, messages);
  return messages;
}

Messages check_relaxed_env_var_name(std::string_view value) {
  if (value.empty()) return {"environment variable name must be non-empty"};
  if (all(value, [](char c) { return c >= ' ' && c <= '~' && c != '='; })) return {};
  return {"a valid environment variable name must consist only of printable ASCII characters other than '='"};
}

Messages check_config_key(std::string_view value) {
  Messages messages;
  if (value.size() > kMaxSubdomainLength) messages.push_back(max_length_message(kMaxSubdomainLength));
  if (value.empty() || !all(value, is_env_char)) {
    messages.push_back(expression_message("a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                                          kConfigKeyExpression, {"key.name", "KEY_NAME", "key-name"}));
  }
  add_directory_messages(value, messages);
  return messages;
}

Messages check_path_segment(std::string_view value) {
  if (value == ".") return {"may not be '.'"};
  if (value == "..") return {"may not be '..'"};
  return check_path_segment_prefix(value);
}

Messages check_path_segment_prefix(std::string_view value) {
  Messages messages;
  if (value.find('/') != std::string_view::npos) messages.emplace_back("may not contain '/'");
  if (value.find('%') != std::string_view::npos) messages.emplace_back("may not contain '%'");
  return messages;
}

Messages check_c_identifier(std::string_view value) {
  if (!value.empty() && !is_digit(value.front()) && all(value, [](char c) { return is_alnum(c) || c == '_'; })) {
    return {};
  }
  return {expression_message(
      "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
      "characters or '_'",
      kIdentifierExpression, {"my_name", "MY_NAME", "MyName"})};
}

Messages check_percent(std::string_view value) {
  if (value.size() >= 2 && value.back() == '%' && all(value.substr(0, value.size() - 1), is_digit)) return {};
  return {expression_message("a valid percent string must be a numeric string followed by an ending '%'",
                             kPercentExpression, {"1%", "93%"})};
}

std::string mask_trailing_dash(std::string_view prefix) {
  std::string masked(prefix);
  if (masked.size() > 1 && masked.back() == '-') {
    // Two characters make room for one letter, so that a prefix may also end in "--" or ".-".
    masked.resize(masked.size() - 2);
    masked += 'a';
  }
  return masked;
}

}  // namespace gangway::names
