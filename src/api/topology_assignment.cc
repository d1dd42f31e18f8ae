#include "api/topology_assignment.h"

#include <algorithm>
#include <string_view>

#include "json/access.h"

namespace gangway::api {
namespace {

json::Array to_list(const std::vector<std::string>& texts) {
  json::Array list;
  for (const auto& text : texts) list.emplace_back(text);
  return list;
}

std::string text_of(const json::Array& list, std::size_t index) {
  return index < list.size() && list[index].is_string() ? std::string(list[index].get_string()) : std::string();
}

// The value of the `index`-th domain at a level.
std::string value_at(const json::Value& level, std::size_t index) {
  if (const auto* universal = json::find(level, {"universal"}); universal && universal->is_string())
    return std::string(universal->get_string());
  return std::string(json::string_at(level, {"individual", "prefix"}))
      .append(text_of(json::array_at(level, {"individual", "roots"}), index))
      .append(json::string_at(level, {"individual", "suffix"}));
}

std::int64_t count_at(const json::Value& counts, std::size_t index) {
  const auto& each = json::array_at(counts, {"individual"});
  if (index < each.size() && each[index].is_int64()) return each[index].get_int64();
  return json::int_at(counts, {"universal"});
}

void add_domains(const json::Value& slice, std::vector<TopologyDomain>& domains) {
  static const json::Value none;
  const auto* counts = json::find(slice, {"podCounts"});
  const auto room = kMostDomains - static_cast<std::int64_t>(domains.size());
  const auto size = std::clamp<std::int64_t>(json::int_at(slice, {"domainCount"}), 0, room);
  for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
    TopologyDomain domain;
    for (const auto& level : json::array_at(slice, {"valuesPerLevel"})) domain.values.push_back(value_at(level, i));
    domain.count = count_at(counts ? *counts : none, i);
    domains.push_back(std::move(domain));
  }
}

// What all of `values` begin with, as far as `most` characters go; or end with, when read from behind.
template <class Begin>
std::size_t shared_length(const std::vector<std::string_view>& values, std::size_t most, Begin begin) {
  for (const auto value : values) {
    most = std::min({most, values.front().size(), value.size()});
    const auto first = begin(values.front());
    most = static_cast<std::size_t>(
        std::mismatch(first, first + static_cast<std::ptrdiff_t>(most), begin(value)).first - first);
  }
  return most;
}

// A text may be taken apart anywhere only if each of its characters is one byte.
bool is_ascii(const std::vector<std::string_view>& values) {
  return std::all_of(values.begin(), values.end(), [](std::string_view value) {
    return std::all_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  });
}

json::Value level_values(const std::vector<std::string_view>& values) {
  const auto first = values.front();
  const std::size_t most = is_ascii(values) ? first.size() : 0;
  if (std::all_of(values.begin(), values.end(), [&](std::string_view value) { return value == first; }))
    return json::Object{{"universal", first}};
  const auto prefix = shared_length(values, most, [](std::string_view text) { return text.begin(); });
  std::vector<std::string_view> rests;
  for (const auto value : values) rests.push_back(value.substr(prefix));
  const auto suffix = shared_length(rests, most, [](std::string_view text) { return text.rbegin(); });
  json::Array roots;
  for (const auto rest : rests) roots.emplace_back(rest.substr(0, rest.size() - suffix));
  json::Object individual;
  if (prefix > 0) individual["prefix"] = first.substr(0, prefix);
  if (suffix > 0) individual["suffix"] = first.substr(first.size() - suffix);
  individual["roots"] = std::move(roots);
  return json::Object{{"individual", std::move(individual)}};
}

json::Value pod_counts(const std::vector<TopologyDomain>& domains) {
  const auto first = domains.front().count;
  if (std::all_of(domains.begin(), domains.end(), [&](const auto& domain) { return domain.count == first; }))
    return json::Object{{"universal", first}};
  json::Array counts;
  for (const auto& domain : domains) counts.emplace_back(domain.count);
  return json::Object{{"individual", std::move(counts)}};
}

json::Value slice_of(const TopologyAssignment& assignment) {
  json::Array levels;
  for (std::size_t level = 0; level < assignment.levels.size(); ++level) {
    std::vector<std::string_view> values;
    for (const auto& domain : assignment.domains)
      values.push_back(level < domain.values.size() ? std::string_view(domain.values[level]) : std::string_view());
    levels.push_back(level_values(values));
  }
  return json::Object{{"domainCount", static_cast<std::int64_t>(assignment.domains.size())},
                      {"valuesPerLevel", std::move(levels)},
                      {"podCounts", pod_counts(assignment.domains)}};
}

}  // namespace

TopologyAssignment read_topology_slices(const json::Value& assignment) {
  TopologyAssignment read{json::strings_at(assignment, {"levels"}), {}};
  for (const auto& slice : json::array_at(assignment, {"slices"})) add_domains(slice, read.domains);
  return read;
}

json::Value to_topology_slices(const TopologyAssignment& assignment) {
  json::Array slices;
  if (!assignment.domains.empty()) slices.push_back(slice_of(assignment));
  return json::Object{{"levels", to_list(assignment.levels)}, {"slices", std::move(slices)}};
}

TopologyAssignment read_topology_domains(const json::Value& assignment) {
  TopologyAssignment read{json::strings_at(assignment, {"levels"}), {}};
  for (const auto& domain : json::array_at(assignment, {"domains"}))
    read.domains.push_back({json::strings_at(domain, {"values"}), json::int_at(domain, {"count"})});
  return read;
}

json::Value to_topology_domains(const TopologyAssignment& assignment) {
  json::Array domains;
  for (const auto& domain : assignment.domains)
    domains.push_back(json::Object{{"values", to_list(domain.values)}, {"count", domain.count}});
  return json::Object{{"levels", to_list(assignment.levels)}, {"domains", std::move(domains)}};
}

}  // namespace gangway::api
