// Pieces of the scripts for nft that both tables of a cluster are made of. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/network/layout.h"

namespace gangway::agent {

// Opens the table, without anything that an earlier script put into it. The caller closes the brace.
std::string begin_table(std::string_view table);
// `what` is "set name" or "map name".
void append_elements(std::string& out, std::string_view what, std::string_view type,
                     const std::vector<std::string>& elements);
void append_elements(std::string& out, std::string_view what, std::string_view type,
                     const std::map<std::string, std::string>& elements);
// The set that kMasqueradeHairpins asks: packets from one of these addresses to itself.
void append_hairpins(std::string& out, const std::set<std::uint32_t>& addresses);
// A pod that reaches itself by another address would drop the answer that comes from its own.
inline constexpr std::string_view kMasqueradeHairpins = "ct status dnat ip saddr . ip daddr @hairpins masquerade";
// `hook` is "nat hook output priority -100".
void append_chain(std::string& out, std::string_view name, std::string_view hook,
                  const std::vector<std::string>& rules);
// A rule that ends the chain for packets from bridges of other clusters: what is theirs is not ours to translate.
std::string not_from_others(const NetworkLayout& layout);

// A script that leaves no such tables.
std::string remove_tables(const std::vector<std::string>& tables);

}  // namespace gangway::agent
