#include "apiserver/strategies/pod_warnings.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "apiserver/strategies/review.h"
#include "base/quote.h"

namespace gangway::apiserver {
namespace {

using Warnings = std::vector<std::string>;

// A file in a volume, and what puts it there.
struct PlacedFile {
  std::string path;
  std::string source;

  std::string shown() const { return source.empty() ? quoted(path) : fmt::format("{} ({})", quoted(path), source); }
};

bool overlap(const PlacedFile& a, const PlacedFile& b) {
  if (a.path.empty() || b.path.empty()) return false;
  auto first = a.path + "/";
  auto second = b.path + "/";
  return first.starts_with(second) || second.starts_with(first);
}

std::vector<PlacedFile> files_of(const Field& items, const std::string& source) {
  std::vector<PlacedFile> files;
  for (const auto& item : items.items()) files.push_back({std::string(item["path"].text()), source});
  return files;
}

// The files of one volume, in the order in which they are put there.
class VolumeFiles {
 public:
  VolumeFiles(const Field& volume, std::string kind, Warnings& warnings)
      : name_(quoted(volume["name"].text())), kind_(std::move(kind)), warnings_(warnings) {}

  void add(PlacedFile file) {
    while (file.path.ends_with('/')) file.path.pop_back();
    for (const auto& other : files_) {
      if (!overlap(other, file)) continue;
      warnings_.push_back(
          fmt::format("volume {} ({}): overlapping paths: {} with {}", name_, kind_, file.shown(), other.shown()));
    }
    files_.push_back(std::move(file));
  }

 private:
  std::string name_;
  std::string kind_;
  Warnings& warnings_;
  std::vector<PlacedFile> files_;
};

std::vector<PlacedFile> projected_files(const Field& source) {
  auto named = [](std::string_view kind, const Field& of) {
    return fmt::format("{} {}", kind, quoted(of["name"].text()));
  };
  auto map = source["configMap"];
  auto secret = source["secret"];
  auto token = source["serviceAccountToken"];
  if (map["items"]) return files_of(map["items"], named("ConfigMap", map));
  if (secret["items"]) return files_of(secret["items"], named("Secret", secret));
  if (source["downwardAPI"]["items"]) return files_of(source["downwardAPI"]["items"], "DownwardAPI");
  if (token) return {{std::string(token["path"].text()), "ServiceAccountToken"}};
  return {};
}

void warn_of_projected(const Field& volume, Warnings& warnings) {
  VolumeFiles placed(volume, "Projected", warnings);
  std::vector<PlacedFile> files;
  for (const auto& source : volume["projected"]["sources"].items()) {
    if (source.empty()) {
      warnings.push_back(fmt::format("volume {} (Projected) has no sources provided", quoted(volume["name"].text())));
      continue;
    }
    // A source that does not list its files counts as those before it once more: the real server warns of that too.
    if (auto own = projected_files(source); !own.empty()) files = std::move(own);
    for (const auto& file : files) placed.add(file);
  }
}

void warn_of_overlapping_files(const Field& volumes, Warnings& warnings) {
  for (const auto& volume : volumes.items()) {
    auto check = [&](std::string_view key, const std::string& kind) {
      VolumeFiles placed(volume, kind, warnings);
      for (const auto& file : files_of(volume[key]["items"], "")) placed.add(file);
    };
    check("configMap", "ConfigMap " + quoted(volume["configMap"]["name"].text()));
    check("secret", "Secret " + quoted(volume["secret"]["secretName"].text()));
    check("downwardAPI", "DownwardAPI");
    warn_of_projected(volume, warnings);
  }
}

// Items of a list that say again what an earlier one says.
void warn_of_doubles(const Field& list, std::string_view key, Warnings& warnings) {
  std::set<std::string_view> seen;
  for (const auto& item : list.items()) {
    if (seen.insert(item[key].text()).second) continue;
    warnings.push_back(fmt::format("{}: duplicate {} {}", item[key].path(), key, quoted(item[key].text())));
  }
}

void warn_of_hidden_variables(const Field& variables, Warnings& warnings) {
  std::set<std::string_view> seen;
  for (const auto& variable : variables.items()) {
    auto name = variable["name"].text();
    if (seen.insert(name).second) continue;
    auto reference = fmt::format("$({})", name);
    auto value = variable["value"].text();
    // A value that builds on the earlier one is meant.
    bool builds_on_it = value.find(reference) != std::string_view::npos && value != reference;
    if (builds_on_it && !variable["valueFrom"]) continue;
    warnings.push_back(fmt::format("{}: hides previous definition of {}, which may be dropped when using apply",
                                   variable.path(), quoted(name)));
  }
}

void warn_of_ports(const Field& port, std::map<std::string, std::vector<Field>>& seen, Warnings& warnings) {
  auto key = fmt::format("{}/{}", port["containerPort"].integer_or(0), port["protocol"].text());
  auto host = port["hostPort"].integer_or(0);
  auto ip = port["hostIP"].text();
  for (const auto& other : seen[key]) {
    auto other_host = other["hostPort"].integer_or(0);
    auto other_ip = other["hostIP"].text();
    std::string_view how;
    if (ip == other_ip && host == other_host) {
      how = "duplicate";
    } else if (host == 0 || other_host == 0) {
      how = "overlapping";
    } else if (host == other_host && ip.empty() != other_ip.empty()) {
      how = "dangerously ambiguous";
    } else {
      continue;
    }
    warnings.push_back(fmt::format("{}: {} port definition with {}", port.path(), how, other.path()));
  }
  seen[key].push_back(port);
}

std::vector<Field> all_containers(const Field& spec) {
  std::vector<Field> all;
  for (auto key : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const auto& container : spec[key].items()) all.push_back(container);
  }
  return all;
}

void warn_of_containers(const Field& spec, Warnings& warnings) {
  auto containers = all_containers(spec);
  for (const auto& container : containers) warn_of_hidden_variables(container["env"], warnings);
  std::map<std::string, std::vector<Field>> ports;
  for (const auto& container : containers) {
    for (const auto& port : container["ports"].items()) warn_of_ports(port, ports, warnings);
  }
  std::map<std::string_view, std::string> names;
  for (const auto& container : containers) {
    for (const auto& port : container["ports"].items()) {
      auto name = port["name"].text();
      if (name.empty()) continue;
      auto [first, is_new] = names.emplace(name, port.path());
      if (is_new) continue;
      warnings.push_back(
          fmt::format("{}: duplicate port name {} with {}, services and probes that select ports by name will use {}",
                      port.path(), quoted(name), first->second, first->second));
    }
  }
}

void warn_of_no_selector(const Field& term, Warnings& warnings) {
  if (term["labelSelector"]) return;
  warnings.push_back(fmt::format("{}: a null labelSelector results in matching no pod", term["labelSelector"].path()));
}

void warn_of_affinity(const Field& affinity, Warnings& warnings) {
  for (auto key : {"podAffinity", "podAntiAffinity"}) {
    for (const auto& term : affinity[key]["requiredDuringSchedulingIgnoredDuringExecution"].items()) {
      warn_of_no_selector(term, warnings);
    }
    for (const auto& term : affinity[key]["preferredDuringSchedulingIgnoredDuringExecution"].items()) {
      warn_of_no_selector(term["podAffinityTerm"], warnings);
    }
  }
}

}  // namespace

std::vector<std::string> pod_spec_warnings(const Field& spec) {
  Warnings warnings;
  for (const auto& constraint : spec["topologySpreadConstraints"].items()) warn_of_no_selector(constraint, warnings);
  warn_of_overlapping_files(spec["volumes"], warnings);
  warn_of_doubles(spec["hostAliases"], "ip", warnings);
  warn_of_doubles(spec["imagePullSecrets"], "name", warnings);
  for (const auto& secret : spec["imagePullSecrets"].items()) {
    if (secret["name"].empty()) warnings.push_back(secret["name"].path() + ": invalid empty name \"\"");
  }
  warn_of_containers(spec, warnings);
  if (spec["terminationGracePeriodSeconds"].integer_or(0) < 0) {
    warnings.push_back(spec["terminationGracePeriodSeconds"].path() +
                       ": must be >= 0; negative values are invalid and will be treated as 1");
  }
  warn_of_affinity(spec["affinity"], warnings);
  return warnings;
}

void warn_about_template(Review& review) {
  auto spec = new_object(review)["spec"];
  if (review.old && spec.same_as(old_object(review)["spec"])) return;
  auto warnings = pod_spec_warnings(spec["template"]["spec"]);
  review.warnings.insert(review.warnings.end(), warnings.begin(), warnings.end());
}

}  // namespace gangway::apiserver
