#include "cli/cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "base/address.h"
#include "base/names.h"
#include "json/yaml.h"

namespace gangway::cli {
namespace {

constexpr std::string_view kApiVersion = "gangway.dev/v1alpha1";
constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::int64_t kMostNodes = 100'000;

// Reads the document and notes every mistake with its place.
class Reader {
 public:
  explicit Reader(const json::YamlDocument& document) : document_(document) {}

  ClusterDescription read() {
    const auto& root = document_.value;
    if (!root.is_object()) {
      complain("", "the file must be a mapping with apiVersion, kind and nodes");
      return {};
    }
    known_fields(root, "", {"apiVersion", "kind", "runtime", "imagePolicy", "nodes"});
    expect(root, "apiVersion", kApiVersion);
    expect(root, "kind", "Cluster");
    runtime_ = choice(root, "", "runtime", {"simulated", "oci"});
    image_policy_ = choice(root, "", "imagePolicy", {"host", "pull"});
    ClusterDescription cluster;
    const auto* nodes = json::find(root, {"nodes"});
    if (!nodes || !nodes->is_array() || nodes->get_array().empty()) {
      complain("nodes", "must be a list of at least one node");
      return cluster;
    }
    std::size_t index = 0;
    for (const auto& node : nodes->get_array()) add_node(node, fmt::format("nodes[{}]", index++), cluster.nodes);
    return cluster;
  }

  std::vector<Cause> take_problems() { return std::move(problems_); }

 private:
  void complain(const std::string& field, std::string_view why) {
    int line = document_.line_of(field);
    problems_.push_back(
        Cause{"FieldValueInvalid", std::string(why), line > 0 ? fmt::format("line {}: {}", line, field) : field});
  }

  static std::string join(const std::string& parent, std::string_view key) {
    return parent.empty() ? std::string(key) : fmt::format("{}.{}", parent, key);
  }

  void known_fields(const json::Value& object, const std::string& at, std::initializer_list<std::string_view> known) {
    std::string list;
    for (auto name : known) list += (list.empty() ? "" : ", ") + std::string(name);
    for (const auto& [key, value] : object.as_object()) {
      if (std::find(known.begin(), known.end(), std::string_view(key)) == known.end()) {
        complain(join(at, key), fmt::format("unknown field; there are: {}", list));
      }
    }
  }

  void expect(const json::Value& root, std::string_view key, std::string_view wanted) {
    if (auto value = json::string_at(root, {key}); value != wanted) {
      complain(std::string(key), fmt::format("must be {} (got \"{}\")", wanted, value));
    }
  }

  // One of the values, or "" when there is none.
  std::string choice(const json::Value& object, const std::string& at, std::string_view key,
                     std::initializer_list<std::string_view> values) {
    const auto* value = json::find(object, {key});
    if (!value) return {};
    auto text = value->is_string() ? std::string_view(value->get_string()) : std::string_view();
    if (std::find(values.begin(), values.end(), text) != values.end()) return std::string(text);
    std::string list;
    for (auto option : values) list += (list.empty() ? "" : " or ") + std::string(option);
    complain(join(at, key), fmt::format("must be {} (got \"{}\")", list, text));
    return {};
  }

  std::string text(const json::Value& object, const std::string& at, std::string_view key) {
    const auto* value = json::find(object, {key});
    if (!value || value->is_null()) return {};
    if (value->is_string()) return std::string(value->get_string());
    complain(join(at, key), "must be text");
    return {};
  }

  std::map<std::string, Quantity> quantities(const json::Value& node, const std::string& at, std::string_view key) {
    std::map<std::string, Quantity> out;
    const auto* values = json::find(node, {key});
    if (!values || values->is_null()) return out;
    auto here = join(at, key);
    if (!values->is_object()) {
      complain(here, "must be a mapping of resources to quantities");
      return out;
    }
    for (const auto& [name, value] : values->get_object()) {
      auto field = join(here, name);
      auto written = value.is_string() ? std::string(value.get_string()) : json::serialize(value);
      auto quantity = Quantity::parse(written);
      if (!quantity || quantity->is_negative()) {
        complain(field, fmt::format("must be a quantity such as 4, 500m or 16Gi (got {})", written));
        continue;
      }
      out.emplace(std::string(name), *quantity);
    }
    return out;
  }

  std::map<std::string, std::string> labels(const json::Value& node, const std::string& at) {
    std::map<std::string, std::string> out;
    const auto* values = json::find(node, {"labels"});
    if (!values || values->is_null()) return out;
    auto here = join(at, "labels");
    if (!values->is_object()) {
      complain(here, "must be a mapping of names to text");
      return out;
    }
    for (const auto& [name, value] : values->get_object()) {
      auto field = join(here, name);
      for (const auto& message : names::check_qualified_name(name)) complain(field, message);
      if (!value.is_string()) {
        complain(field, fmt::format("must be text: write it in quotes (got {})", json::serialize(value)));
        continue;
      }
      for (const auto& message : names::check_label_value(value.get_string())) complain(field, message);
      out.emplace(std::string(name), std::string(value.get_string()));
    }
    return out;
  }

  std::vector<api::Taint> taints(const json::Value& node, const std::string& at) {
    std::vector<api::Taint> out;
    const auto* values = json::find(node, {"taints"});
    if (!values || values->is_null()) return out;
    if (!values->is_array()) {
      complain(join(at, "taints"), "must be a list");
      return out;
    }
    std::size_t index = 0;
    for (const auto& value : values->get_array()) {
      auto here = fmt::format("{}[{}]", join(at, "taints"), index++);
      if (!value.is_object()) {
        complain(here, "must be a mapping with key, value and effect");
        continue;
      }
      known_fields(value, here, {"key", "value", "effect"});
      api::Taint taint{text(value, here, "key"), text(value, here, "value"), text(value, here, "effect")};
      for (const auto& message : names::check_qualified_name(taint.key)) complain(join(here, "key"), message);
      choice(value, here, "effect", {"NoSchedule", "PreferNoSchedule", "NoExecute"});
      if (taint.effect.empty()) complain(join(here, "effect"), "is missing");
      out.push_back(std::move(taint));
    }
    return out;
  }

  std::vector<std::string> roles(const json::Value& node, const std::string& at) {
    std::vector<std::string> out;
    const auto* values = json::find(node, {"roles"});
    if (!values || values->is_null()) return out;
    if (!values->is_array()) {
      complain(join(at, "roles"), "must be a list of names");
      return out;
    }
    for (const auto& value : values->get_array()) {
      if (value.is_string() && names::check_dns1123_label(value.get_string()).empty()) {
        out.emplace_back(value.get_string());
      } else {
        complain(join(at, "roles"), fmt::format("{} is not a role's name", json::serialize(value)));
      }
    }
    return out;
  }

  std::int64_t count(const json::Value& node, const std::string& at) {
    const auto* value = json::find(node, {"count"});
    if (!value) return 0;
    if (value->is_int64() && value->get_int64() >= 1 && value->get_int64() <= kMostNodes) return value->get_int64();
    complain(join(at, "count"), fmt::format("must be a number from 1 to {}", kMostNodes));
    return 1;
  }

  void check_reserved(const agent::NodeSpec& spec, const std::string& at) {
    for (const auto& [name, reserved] : spec.reserved) {
      auto capacity = spec.capacity.find(name);
      if (capacity == spec.capacity.end() || capacity->second < reserved) {
        complain(fmt::format("{}.reserved.{}", at, name), "is more than the node's capacity");
      }
    }
  }

  void add_node(const json::Value& node, const std::string& at, std::vector<agent::NodeSpec>& nodes) {
    if (!node.is_object()) return complain(at, "must be a mapping with a name and a capacity");
    known_fields(
        node, at,
        {"name", "count", "address", "roles", "capacity", "reserved", "labels", "taints", "runtime", "imagePolicy"});
    agent::NodeSpec spec;
    spec.runtime = choice(node, at, "runtime", {"simulated", "oci"});
    spec.image_policy = choice(node, at, "imagePolicy", {"host", "pull"});
    if (spec.runtime.empty()) spec.runtime = runtime_;
    if (spec.image_policy.empty()) spec.image_policy = image_policy_;
    spec.name = text(node, at, "name");
    if (spec.name.empty()) return complain(join(at, "name"), "is missing");
    for (const auto& message : names::check_dns1123_subdomain(spec.name)) complain(join(at, "name"), message);
    spec.address = text(node, at, "address");
    if (!spec.address.empty() && !parse_address(spec.address))
      complain(join(at, "address"),
               fmt::format("must be an IP address, as in 192.168.0.23 (got \"{}\")", spec.address));
    spec.roles = roles(node, at);
    spec.capacity = quantities(node, at, "capacity");
    spec.reserved = quantities(node, at, "reserved");
    for (auto name : {"cpu", "memory"}) {
      if (!spec.capacity.contains(name)) complain(join(join(at, "capacity"), name), "is missing");
    }
    check_reserved(spec, at);
    spec.labels = labels(node, at);
    spec.taints = taints(node, at);
    auto copies = count(node, at);
    if (copies == 0) return add_named(spec, spec.name, at, nodes);
    if (!spec.address.empty() && copies > 1)
      complain(join(at, "address"), "cannot be shared by several nodes: leave it out, or leave out count");
    for (std::int64_t i = 0; i < copies; ++i) add_named(spec, fmt::format("{}-{}", spec.name, i), at, nodes);
  }

  void add_named(agent::NodeSpec spec, std::string name, const std::string& at, std::vector<agent::NodeSpec>& nodes) {
    if (!seen_.insert(name).second)
      return complain(join(at, "name"), fmt::format("there are two nodes called {}", name));
    spec.name = std::move(name);
    nodes.push_back(std::move(spec));
  }

  const json::YamlDocument& document_;
  std::vector<Cause> problems_;
  std::set<std::string> seen_;
  std::string runtime_;       // of nodes that say nothing
  std::string image_policy_;  // likewise
};

Result<Quantity> quantity_flag(std::string_view flag, const std::string& text) {
  auto quantity = Quantity::parse(text);
  if (quantity && !quantity->is_negative() && !quantity->is_zero()) return quantity;
  return bad_request(fmt::format("{}: must be a quantity above 0, such as 4, 500m or 16Gi (got \"{}\")", flag, text));
}

}  // namespace

Result<ClusterDescription> parse_cluster_file(std::string_view text) {
  GW_TRY(auto documents, json::parse_yaml_with_lines(text));
  if (documents.size() != 1) return bad_request(fmt::format("must hold one document (it holds {})", documents.size()));
  Reader reader(documents.front());
  auto cluster = reader.read();
  auto problems = reader.take_problems();
  if (problems.empty()) return cluster;
  Error error = bad_request(fmt::format("{} mistake{}", problems.size(), problems.size() == 1 ? "" : "s"));
  error.causes = std::move(problems);
  return error;
}

Result<ClusterDescription> cluster_of_flags(const NodeFlags& flags, const Machine& machine) {
  agent::NodeSpec node;
  GW_TRY(node.capacity["cpu"],
         quantity_flag("--cpus-per-node", flags.cpus.empty() ? std::to_string(machine.cpus) : flags.cpus));
  auto memory = flags.memory.empty() ? fmt::format("{}Ki", machine.memory_bytes / 1024) : flags.memory;
  GW_TRY(node.capacity["memory"], quantity_flag("--memory-per-node", memory));
  int gpus = flags.gpus.value_or(machine.gpus);
  if (gpus > 0) {
    GW_TRY(node.capacity[std::string(kGpu)], Quantity::parse(std::to_string(gpus)));
  }
  ClusterDescription cluster;
  if (!flags.nodes) {
    node.name = machine.host_name;
    node.address = "127.0.0.1";
    cluster.nodes.push_back(std::move(node));
    return cluster;
  }
  for (int i = 0; i < *flags.nodes; ++i) {
    node.name = fmt::format("node-{}", i);
    cluster.nodes.push_back(node);
  }
  return cluster;
}

}  // namespace gangway::cli
