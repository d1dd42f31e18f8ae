#include "apiserver/strategies/service_addresses.h"

#include <fmt/format.h>

#include <set>

#include "apiserver/strategies/address.h"
#include "apiserver/strategies/review.h"
#include "base/hash.h"

namespace gangway::apiserver {
namespace {

constexpr std::uint32_t kNetwork = 10U << 24 | 96U << 16;  // 10.96.0.0/16
constexpr std::string_view kNetworkText = "10.96.0.0/16";
constexpr std::uint32_t kNetworkSize = 1U << 16;
// The first addresses and ports are for those who ask for one; others get them only when nothing else is left.
constexpr std::uint32_t kStaticAddresses = 257;
constexpr std::uint32_t kFirstPort = 30000;
constexpr std::uint32_t kLastPort = 32767;
constexpr std::uint32_t kStaticPorts = 86;

// The first number that `is_free`, from a place that the hash gives on; the numbers below `preferred` come last.
template <class IsFree>
std::optional<std::uint32_t> choose(std::uint64_t hash, std::uint32_t first, std::uint32_t preferred, std::uint32_t end,
                                    IsFree is_free) {
  auto size = end - preferred;
  for (std::uint32_t i = 0; i < size; ++i) {
    auto number = preferred + static_cast<std::uint32_t>((hash + i) % size);
    if (is_free(number)) return number;
  }
  for (auto number = first; number < preferred; ++number) {
    if (is_free(number)) return number;
  }
  return std::nullopt;
}

class Allocator {
 public:
  explicit Allocator(Review& review)
      : review_(review), object_(new_object(review)), spec_(json::object_at(review.object, {"spec"})) {
    own_ = fmt::format("{}/{}", object_["metadata"]["namespace"].text(), object_["metadata"]["name"].text());
    for (const auto& version : review.facts.state.objects("services")) {
      if (fmt::format("{}/{}", version.header->name.ns, version.header->name.name) == own_) continue;
      if (auto service = json::parse(*version.json)) {
        for (auto& claim : service_claims(*service)) taken_.insert(std::move(claim));
      }
    }
  }

  void give_families() {
    bool headless = object_["spec"]["clusterIP"].text() == "None";
    auto families = object_["spec"]["ipFamilies"];
    for (const auto& family : families.items()) {
      if (family.text() == "IPv6" && !headless) family.invalid("not configured on this cluster");
    }
    auto policy = object_["spec"]["ipFamilyPolicy"];
    bool free_choice = headless && object_["spec"]["selector"].empty();
    if (policy.text() == "RequireDualStack" && !free_choice) {
      policy.invalid("this cluster is not configured for dual-stack services");
    }
    bool both = free_choice && (!policy || policy.text() == "RequireDualStack");
    bool has_policy = policy.exists();
    auto families_given = families.size();
    if (!has_policy) spec_["ipFamilyPolicy"] = both && families_given != 1 ? "RequireDualStack" : "SingleStack";
    if (families_given == 0) spec_["ipFamilies"] = both ? json::Array{"IPv4", "IPv6"} : json::Array{"IPv4"};
  }

  void give_address() {
    auto asked = object_["spec"]["clusterIP"].text();
    if (asked == "None") return;
    auto list = object_["spec"]["clusterIPs"];
    if (!asked.empty()) {
      auto before = review_.old ? json::string_at(*review_.old, {"spec", "clusterIP"}) : std::string_view();
      if (asked != before) check_asked_address(asked, list);
      return;
    }
    if (!list.empty()) return;  // refused by validation
    auto number = choose(fnv1a(own_), 1, kStaticAddresses, kNetworkSize - 1, [&](std::uint32_t offset) {
      return !taken_.contains("clusterip/" + v4_text(kNetwork + offset));
    });
    if (!number) return list.refuse("InternalError", "Internal error: failed to allocate IP: the range is full");
    auto text = v4_text(kNetwork + *number);
    spec_["clusterIP"] = text;
    spec_["clusterIPs"] = json::Array{json::Value(text)};
  }

  void give_node_ports() {
    auto* ports = spec_.if_contains("ports");
    if (!ports || !ports->is_array()) return;
    auto fields = object_["spec"]["ports"].items();
    std::set<std::int64_t> own;
    for (const auto& port : fields) {
      auto number = port["nodePort"].integer_or(0);
      if (number == 0) continue;
      check_asked_port(port["nodePort"], number, own);
      own.insert(number);
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i]["nodePort"].integer_or(0) != 0) continue;
      auto number = free_port(fmt::format("{}/{}", own_, i), own);
      if (!number)
        return fields[i]["nodePort"].refuse("InternalError",
                                            "Internal error: failed to allocate a nodePort: range is full");
      own.insert(*number);
      ports->get_array()[i].as_object()["nodePort"] = *number;
    }
  }

  void give_health_check_port() {
    auto field = object_["spec"]["healthCheckNodePort"];
    if (auto number = field.integer_or(0); number != 0) return check_asked_port(field, number, {});
    std::set<std::int64_t> own;
    for (const auto& port : object_["spec"]["ports"].items()) own.insert(port["nodePort"].integer_or(0));
    if (auto number = free_port(own_ + "/health", own)) spec_["healthCheckNodePort"] = *number;
  }

 private:
  void check_asked_address(std::string_view asked, const Field& list) {
    auto address = parse_address(asked);
    if (!address) return;  // refused by validation
    const auto& bytes = address->bytes;
    if (!address->is_v4 || bytes[0] != 10 || bytes[1] != 96) {
      return list.invalid(
          fmt::format("failed to allocate IP {}: the provided IP ({}) is not in the valid range. The range "
                      "of valid IPs is {}",
                      asked, asked, kNetworkText));
    }
    if (taken_.contains(fmt::format("clusterip/{}", asked))) {
      list.invalid(fmt::format("failed to allocate IP {}: provided IP is already allocated", asked));
    }
  }

  void check_asked_port(const Field& field, std::int64_t number, const std::set<std::int64_t>& own) {
    if (own.contains(number) || held_before(number)) return;
    if (number < kFirstPort || number > kLastPort) {
      return field.invalid(fmt::format("provided port is not in the valid range. The range of valid ports is {}-{}",
                                       kFirstPort, kLastPort));
    }
    if (taken_.contains(fmt::format("nodeport/{}", number))) field.invalid("provided port is already allocated");
  }

  bool held_before(std::int64_t number) const {
    if (!review_.old) return false;
    auto claims = service_claims(*review_.old);
    return std::find(claims.begin(), claims.end(), fmt::format("nodeport/{}", number)) != claims.end();
  }

  std::optional<std::int64_t> free_port(const std::string& seed, const std::set<std::int64_t>& own) const {
    return choose(fnv1a(seed), kFirstPort, kFirstPort + kStaticPorts, kLastPort + 1, [&](std::uint32_t number) {
      return !own.contains(number) && !taken_.contains(fmt::format("nodeport/{}", number));
    });
  }

  Review& review_;
  Field object_;
  json::Object& spec_;
  std::string own_;
  std::set<std::string> taken_;
};

}  // namespace

bool needs_cluster_address(const json::Value& service) {
  return json::string_at(service, {"spec", "type"}) != "ExternalName";
}

bool needs_node_ports(const json::Value& service) {
  auto type = json::string_at(service, {"spec", "type"});
  if (type != "LoadBalancer") return type == "NodePort";
  const auto* wanted = json::find(service, {"spec", "allocateLoadBalancerNodePorts"});
  return !wanted || !wanted->is_bool() || wanted->get_bool();
}

bool needs_health_check_port(const json::Value& service) {
  return json::string_at(service, {"spec", "type"}) == "LoadBalancer" &&
         json::string_at(service, {"spec", "externalTrafficPolicy"}) == "Local";
}

void allocate_addresses(Review& review) {
  Allocator allocator(review);
  if (needs_cluster_address(review.object)) {
    allocator.give_families();
    allocator.give_address();
  }
  if (needs_node_ports(review.object)) allocator.give_node_ports();
  if (needs_health_check_port(review.object)) allocator.give_health_check_port();
}

std::vector<std::string> service_claims(const json::Value& service) {
  std::vector<std::string> claims;
  Causes unused;
  auto spec = Field(&service, "", unused)["spec"];
  for (const auto& address : spec["clusterIPs"].items()) {
    if (parse_address(address.text())) claims.push_back(fmt::format("clusterip/{}", address.text()));
  }
  std::set<std::int64_t> ports;
  for (const auto& port : spec["ports"].items()) ports.insert(port["nodePort"].integer_or(0));
  ports.insert(spec["healthCheckNodePort"].integer_or(0));
  for (auto port : ports) {
    if (port != 0) claims.push_back(fmt::format("nodeport/{}", port));
  }
  return claims;
}

}  // namespace gangway::apiserver
