// ConfigMap, Secret and ServiceAccount.
#include <fmt/format.h>

#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/base64.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::size_t kMaxBytes = 1024 * 1024;
constexpr std::string_view kAccountName = "kubernetes.io/service-account.name";

std::size_t decoded_size(std::string_view base64) {
  auto size = base64.size() / 4 * 3;
  while (size > 0 && base64.ends_with('=')) {
    base64.remove_suffix(1);
    --size;
  }
  return size;
}

void check_key(std::string_view key, const Field& entry) {
  for (const auto& message : names::check_config_key(key)) entry.invalid(json::Value(key), message);
}

// `keys` are the fields that `immutable: true` freezes.
void check_frozen(Review& review, std::initializer_list<std::string_view> keys) {
  auto before = old_object(review);
  auto now = new_object(review);
  if (!before["immutable"].flag()) return;
  constexpr std::string_view kWhy = "field is immutable when `immutable` is set";
  if (!now["immutable"].flag()) now["immutable"].forbidden(kWhy);
  for (auto key : keys) {
    if (!now[key].same_as(before[key])) now[key].forbidden(kWhy);
  }
}

void validate_config_map(Review& review) {
  auto object = new_object(review);
  auto binary = object["binaryData"];
  std::size_t total = 0;
  for (const auto& [key, entry] : object["data"].entries()) {
    check_key(key, entry);
    if (binary.key(key)) entry.invalid(json::Value(key), "duplicate of key present in binaryData");
    total += entry.size();
  }
  for (const auto& [key, entry] : binary.entries()) {
    check_key(key, entry);
    total += decoded_size(entry.text());
  }
  if (total > kMaxBytes) object.too_long(kMaxBytes);
  check_frozen(review, {"data", "binaryData"});
}

// stringData is for writing only: what it holds becomes data.
void move_string_data(json::Value& secret) {
  auto* plain = json::find(secret, {"stringData"});
  if (!plain) return;
  if (plain->is_object() && !plain->get_object().empty()) {
    auto source = std::move(plain->get_object());
    auto& data = json::object_at(secret, {"data"});
    for (const auto& [key, value] : source) {
      if (value.is_string()) data[key] = base64_encode(value.get_string());
    }
  }
  secret.as_object().erase("stringData");
}

void prepare_secret(Review& review) {
  move_string_data(review.object);
}

void check_json_key(const Field& data, std::string_view key) {
  auto entry = data.key(key);
  if (!entry) return entry.required();
  auto text = base64_decode(entry.text());
  auto parsed = text ? json::parse(*text) : Result<json::Value>(text.error());
  if (!parsed) return entry.invalid("<secret contents redacted>", parsed.error().message);
  if (!parsed->is_object()) entry.invalid("<secret contents redacted>", "must be a JSON object");
}

void check_typed_secret(const Field& secret) {
  auto data = secret["data"];
  auto type = secret["type"].text();
  auto need = [&](std::string_view key) {
    if (!data.key(key)) data.key(key).required();
  };
  if (type == "kubernetes.io/service-account-token") {
    auto account = secret["metadata"]["annotations"].key(kAccountName);
    if (account.empty()) account.required();
  } else if (type == "kubernetes.io/dockercfg") {
    check_json_key(data, ".dockercfg");
  } else if (type == "kubernetes.io/dockerconfigjson") {
    check_json_key(data, ".dockerconfigjson");
  } else if (type == "kubernetes.io/basic-auth") {
    if (!data.key("username") && !data.key("password")) {
      need("username");
      need("password");
    }
  } else if (type == "kubernetes.io/ssh-auth") {
    if (data.key("ssh-privatekey").empty()) data.key("ssh-privatekey").required();
  } else if (type == "kubernetes.io/tls") {
    need("tls.crt");
    need("tls.key");
  }
}

void validate_secret(Review& review) {
  auto object = new_object(review);
  if (review.old) object["type"].immutable(old_object(review)["type"]);
  check_frozen(review, {"data"});
  std::size_t total = 0;
  for (const auto& [key, entry] : object["data"].entries()) {
    check_key(key, entry);
    total += decoded_size(entry.text());
  }
  if (total > kMaxBytes) object["data"].too_long(kMaxBytes);
  check_typed_secret(object);
}

}  // namespace

const Strategy& config_map_strategy() {
  static const Strategy strategy{.validate = validate_config_map};
  return strategy;
}

const Strategy& secret_strategy() {
  static const Strategy strategy{
      .add_defaults = move_string_data, .prepare = prepare_secret, .validate = validate_secret};
  return strategy;
}

const Strategy& service_account_strategy() {
  static const Strategy strategy{.returns_deleted = true};
  return strategy;
}

}  // namespace gangway::apiserver
