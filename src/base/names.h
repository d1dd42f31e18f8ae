// What names may look like: Kubernetes' rules for the names of objects, labels, ports and variables.
//
// Each check returns what is wrong, one message a rule, in the words that clients of Kubernetes know; none means valid.
// A valid name costs no allocation. Pure functions, callable from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway::names {

using Messages = std::vector<std::string>;

inline constexpr std::size_t kMaxLabelLength = 63;
inline constexpr std::size_t kMaxSubdomainLength = 253;

// "my-name": namespaces, pods' host names, containers.
Messages check_dns1123_label(std::string_view value);
// "example.com": most objects.
Messages check_dns1123_subdomain(std::string_view value);
// "my-name", starting with a letter: services.
Messages check_dns1035_label(std::string_view value);
// "name" or "prefix.example.com/name": keys of labels, annotations, taints, resources.
Messages check_qualified_name(std::string_view value);
Messages check_label_value(std::string_view value);
Messages check_port_name(std::string_view value);
Messages check_port_number(long long value);
// The strict form: letters, digits, '_', '-', '.', not starting with a digit.
Messages check_env_var_name(std::string_view value);
// The form the API server takes by default: printable ASCII without '='.
Messages check_relaxed_env_var_name(std::string_view value);
// Keys of ConfigMaps and Secrets.
Messages check_config_key(std::string_view value);
// Names that only need to fit into a URL's path: roles, bindings.
Messages check_path_segment(std::string_view value);
Messages check_path_segment_prefix(std::string_view value);
Messages check_c_identifier(std::string_view value);
Messages check_percent(std::string_view value);

// A generateName that ends in '-' is checked as if a letter stood there, since the random suffix follows it.
std::string mask_trailing_dash(std::string_view prefix);

// "must be no more than 63 characters"
std::string max_length_message(std::size_t length);
// "must be between 1 and 65535, inclusive"
std::string range_message(long long low, long long high);

}  // namespace gangway::names
