#include "cli/arena/flag_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/oci/image_name.h"
#include "base/names.h"
#include "base/quantity.h"

namespace gangway::cli::arena {
namespace {

Result<void> check_mount_path(std::string_view path, std::string_view whole) {
  if (!path.starts_with('/')) return bad_request(fmt::format("the path must begin with / (got {})", whole));
  if (path.find_first_not_of('/') == std::string_view::npos)
    return bad_request(fmt::format("must not be mounted over / (got {})", whole));
  if (path.find(':') != std::string_view::npos) return bad_request(fmt::format("has too many colons (got {})", whole));
  return {};
}

Error first_of(const names::Messages& messages, std::string_view what) {
  return bad_request(fmt::format("{}: {}", what, messages.front()));
}

constexpr std::array<std::string_view, 3> kEffects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

}  // namespace

Result<KeyValue> parse_key_value(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return bad_request(fmt::format("must be KEY=VALUE (got {})", text.empty() ? "nothing" : text));
  return KeyValue{text.substr(0, equals), text.substr(equals + 1)};
}

Result<Mount> parse_data(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return bad_request(fmt::format("must be CLAIM:/path (got {})", text));
  const std::string_view claim = text.substr(0, colon);
  if (claim.size() < 2) return bad_request(fmt::format("the claim's name is too short (got {})", text));
  if (auto wrong = names::check_dns1123_subdomain(claim); !wrong.empty()) return first_of(wrong, claim);
  GW_CHECKED(check_mount_path(text.substr(colon + 1), text));
  return Mount{std::string(claim), std::string(text.substr(colon + 1))};
}

Result<Mount> parse_data_dir(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view host = text.substr(0, colon);
  const std::string_view path = colon == std::string_view::npos ? host : text.substr(colon + 1);
  GW_CHECKED(check_mount_path(host, text));
  GW_CHECKED(check_mount_path(path, text));
  return Mount{std::string(host), std::string(path)};
}

Result<KeyValue> parse_device(std::string_view text) {
  auto pair = parse_key_value(text);
  if (!pair) return bad_request(fmt::format("must be RESOURCE=COUNT, as amd.com/gpu=1 (got {})", text));
  if (pair->first == "nvidia.com/gpu") return bad_request("nvidia.com/gpu is asked for with --gpus");
  if (auto wrong = names::check_qualified_name(pair->first); !wrong.empty()) return first_of(wrong, pair->first);
  if (pair->first.find('/') == std::string::npos)
    return bad_request(fmt::format("a device's name has a domain, as amd.com/gpu (got {})", pair->first));
  GW_CHECKED(check_quantity(pair->second));
  return pair;
}

Result<json::Value> parse_toleration(std::string_view text) {
  if (text == "all") return json::Value(json::Object{{"operator", "Exists"}});
  const Error wrong = bad_request(
      fmt::format("must be `all`, KEY=VALUE:EFFECT or KEY=VALUE:EFFECT,OPERATOR, with an effect of NoSchedule, "
                  "PreferNoSchedule or NoExecute (got {})",
                  text.empty() ? "nothing" : text));
  const std::size_t comma = text.rfind(',');
  const std::string_view operation = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  const std::string_view rest = text.substr(0, comma);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  const std::string_view effect = rest.substr(colon + 1);
  if (std::find(kEffects.begin(), kEffects.end(), effect) == kEffects.end()) return wrong;
  const std::string_view taint = rest.substr(0, colon);
  const std::size_t equals = taint.find('=');
  const std::string_view key = taint.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : taint.substr(equals + 1);
  if (!names::check_qualified_name(key).empty() || !names::check_label_value(value).empty()) return wrong;
  if (!operation.empty() && operation != "Equal" && operation != "Exists") return wrong;
  const bool exists = operation == "Exists" || (operation.empty() && equals == std::string_view::npos);
  if (exists && !value.empty()) return bad_request(fmt::format("the operator Exists takes no value (got {})", text));
  json::Object toleration{{"key", key}, {"operator", exists ? "Exists" : "Equal"}};
  if (!exists) toleration["value"] = value;
  toleration["effect"] = effect;
  return json::Value(std::move(toleration));
}

Result<Mount> parse_config_file(std::string_view text, std::string_view home) {
  const std::size_t colon = text.find(':');
  std::string host(text.substr(0, colon));
  if (host.empty())
    return bad_request(fmt::format("must be FILE or FILE:/path (got {})", text.empty() ? "nothing" : text));
  if (host.starts_with("~/")) host = std::string(home) + host.substr(1);
  std::string path(colon == std::string_view::npos ? std::string_view(host) : text.substr(colon + 1));
  if (colon == std::string_view::npos && !path.starts_with('/'))
    return bad_request(fmt::format("a relative file needs a place in the container, as {}:/etc/{} (got {})", text,
                                   path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1), text));
  GW_CHECKED(check_mount_path(path, text));
  if (path.rfind('/') == 0 || path.ends_with('/'))
    return bad_request(fmt::format("the place in the container must be a file in a folder (got {})", text));
  return Mount{std::move(host), std::move(path)};
}

Result<Duration> parse_time(std::string_view text, bool may_be_zero) {
  auto time = parse_duration(text);
  if (!time) return bad_request(fmt::format("must be a duration such as 90s or 1h30m (got {})", text));
  if (*time < Duration::zero() || (!may_be_zero && *time == Duration::zero()))
    return bad_request(fmt::format("must be {} (got {})", may_be_zero ? "at least 0s" : "more than 0s", text));
  return time;
}

Result<void> check_image(std::string_view text) {
  if (agent::oci::parse_image_name(text)) return {};
  return bad_request(fmt::format("must be an image's name, as registry/repository:tag (got {})", text));
}

Result<void> check_quantity(std::string_view text) {
  auto quantity = Quantity::parse(text);
  if (!quantity) return bad_request(fmt::format("must be a quantity such as 2, 500m or 4Gi (got {})", text));
  if (quantity->is_negative()) return bad_request(fmt::format("must not be negative (got {})", text));
  return {};
}

}  // namespace gangway::cli::arena
