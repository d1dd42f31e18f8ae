#include "agent/network/pod_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/network/service_names.h"

namespace gangway::agent {
namespace {

// What the C library reads; more would only be ignored there.
constexpr std::size_t kMaxNameservers = 3;
constexpr std::size_t kMaxSearches = 32;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    auto end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

std::pair<std::string, std::string> option_of(std::string_view word) {
  auto colon = word.find(':');
  if (colon == std::string_view::npos) return {std::string(word), ""};
  return {std::string(word.substr(0, colon)), std::string(word.substr(colon + 1))};
}

void add_new(std::vector<std::string>& list, const std::vector<std::string>& more) {
  for (const auto& item : more) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  }
}

// A later value of an option replaces an earlier one.
void set_options(ResolverConfig& config, const std::vector<std::pair<std::string, std::string>>& options) {
  for (const auto& option : options) {
    auto same = [&](const auto& other) { return other.first == option.first; };
    auto at = std::find_if(config.options.begin(), config.options.end(), same);
    if (at == config.options.end())
      config.options.push_back(option);
    else
      *at = option;
  }
}

ResolverConfig cluster_config(const SandboxSpec& spec, const ResolverConfig& host, const std::string& resolver) {
  ResolverConfig config;
  config.nameservers = {resolver};
  config.searches = {fmt::format("{}.svc.{}", spec.pod.ns, kClusterDomain), fmt::format("svc.{}", kClusterDomain),
                     std::string(kClusterDomain)};
  config.options = {{"ndots", "5"}};
  add_new(config.searches, host.searches);
  return config;
}

// The machine's own, seen from a pod.
ResolverConfig machine_config(const SandboxSpec& spec, const ResolverConfig& host, const std::string& resolver) {
  auto config = host;
  if (spec.host_network) return config;
  for (auto& server : config.nameservers) {
    if (server.starts_with("127.") || server == "::1") server = resolver;
  }
  std::vector<std::string> once;
  add_new(once, config.nameservers);
  config.nameservers = std::move(once);
  return config;
}

std::string text_of(const ResolverConfig& config) {
  std::string out;
  for (std::size_t i = 0; i < std::min(config.nameservers.size(), kMaxNameservers); ++i)
    out += fmt::format("nameserver {}\n", config.nameservers[i]);
  auto searches = config.searches;
  searches.resize(std::min(searches.size(), kMaxSearches));
  if (!searches.empty()) out += fmt::format("search {}\n", fmt::join(searches, " "));
  std::vector<std::string> options;
  for (const auto& [name, value] : config.options) options.push_back(value.empty() ? name : name + ":" + value);
  if (!options.empty()) out += fmt::format("options {}\n", fmt::join(options, " "));
  return out;
}

}  // namespace

ResolverConfig parse_resolv_conf(std::string_view text) {
  ResolverConfig config;
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    auto words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.size() < 2) continue;
    if (words[0] == "nameserver") config.nameservers.emplace_back(words[1]);
    // The last line of its kind counts.
    if (words[0] == "search" || words[0] == "domain") config.searches.assign(words.begin() + 1, words.end());
    if (words[0] == "options") {
      for (auto word = words.begin() + 1; word != words.end(); ++word) config.options.push_back(option_of(*word));
    }
  }
  return config;
}

std::string resolv_conf(const SandboxSpec& spec, const ResolverConfig& host, const std::string& cluster_resolver) {
  const auto& dns = spec.dns;
  ResolverConfig config;
  if (dns.cluster) {
    config = cluster_config(spec, host, cluster_resolver);
  } else if (dns.machine) {
    config = machine_config(spec, host, cluster_resolver);
  }
  add_new(config.nameservers, dns.nameservers);
  add_new(config.searches, dns.searches);
  set_options(config, dns.options);
  return text_of(config);
}

std::string hosts_file(const SandboxSpec& spec, const std::vector<std::string>& addresses,
                       std::string_view machine_hosts) {
  std::string out = "# Written by Gangway.\n";
  if (spec.host_network) {
    out += machine_hosts;
    if (!out.ends_with('\n')) out += '\n';
  } else {
    out +=
        "127.0.0.1\tlocalhost\n"
        "::1\tlocalhost ip6-localhost ip6-loopback\n"
        "fe00::0\tip6-localnet\n"
        "fe00::0\tip6-mcastprefix\n"
        "fe00::1\tip6-allnodes\n"
        "fe00::2\tip6-allrouters\n";
    auto names =
        spec.domain.empty() ? spec.hostname : fmt::format("{}.{}\t{}", spec.hostname, spec.domain, spec.hostname);
    for (const auto& address : addresses) out += fmt::format("{}\t{}\n", address, names);
  }
  for (const auto& alias : spec.host_aliases)
    out += fmt::format("{}\t{}\n", alias.address, fmt::join(alias.names, "\t"));
  return out;
}

}  // namespace gangway::agent
