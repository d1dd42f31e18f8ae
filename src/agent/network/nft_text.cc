#include "agent/network/nft_text.h"

#include <fmt/format.h>

namespace gangway::agent {

std::string begin_table(std::string_view table) {
  return fmt::format("{}table ip {} {{\n", remove_tables({std::string(table)}), table);
}

void append_elements(std::string& out, std::string_view what, std::string_view type,
                     const std::vector<std::string>& elements) {
  out += fmt::format("  {} {{\n    type {}\n", what, type);
  if (!elements.empty()) out += fmt::format("    elements = {{ {} }}\n", fmt::join(elements, ",\n      "));
  out += "  }\n";
}

void append_elements(std::string& out, std::string_view what, std::string_view type,
                     const std::map<std::string, std::string>& elements) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : elements) pairs.push_back(fmt::format("{} : {}", key, value));
  append_elements(out, what, type, pairs);
}

void append_hairpins(std::string& out, const std::set<std::uint32_t>& addresses) {
  std::vector<std::string> pairs;
  for (auto address : addresses) pairs.push_back(fmt::format("{0} . {0}", v4_text(address)));
  append_elements(out, "set hairpins", "ipv4_addr . ipv4_addr", pairs);
}

void append_chain(std::string& out, std::string_view name, std::string_view hook,
                  const std::vector<std::string>& rules) {
  out += fmt::format("  chain {} {{\n    type {}; policy accept;\n", name, hook);
  for (const auto& rule : rules) out += fmt::format("    {}\n", rule);
  out += "  }\n";
}

std::string not_from_others(const NetworkLayout& layout) {
  return fmt::format("meta iifgroup {} iifname != \"{}\" return", kBridgeGroup, layout.bridge());
}

std::string remove_tables(const std::vector<std::string>& tables) {
  std::string out;
  // A table must exist to be deleted.
  for (const auto& table : tables) out += fmt::format("table ip {0}\ndelete table ip {0}\n", table);
  return out;
}

}  // namespace gangway::agent
