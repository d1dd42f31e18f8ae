#include "agent/oci/image_name.h"

#include <algorithm>

#include "base/base64.h"
#include "base/quote.h"
#include "json/access.h"

namespace gangway::agent::oci {
namespace {

constexpr std::string_view kLocal = "oci:";

Error invalid(std::string_view text) {
  return bad_request("image " + quoted(text) + ": invalid reference format");
}

bool is_digest(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || text.size() < colon + 33) return false;
  const auto hex = text.substr(colon + 1);
  return std::all_of(hex.begin(), hex.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_tag(std::string_view text) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-'; };
  return !text.empty() && text.size() <= 128 && text[0] != '.' && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), allowed);
}

bool is_repository(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '/';
  };
  return !text.empty() && text.front() != '/' && text.back() != '/' && text.find("//") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), allowed);
}

bool is_registry(std::string_view text) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
  };
  return std::all_of(text.begin(), text.end(), allowed);
}

Result<ImageName> parse_local(std::string_view text) {
  ImageName name{.local = true, .registry = {}, .repository = {}, .tag = "latest", .digest = {}};
  const auto rest = text.substr(kLocal.size());
  const auto colon = rest.rfind(':');
  name.repository = rest.substr(0, colon);
  if (colon != std::string_view::npos) name.tag = rest.substr(colon + 1);
  if (!name.repository.starts_with('/') || !is_tag(name.tag)) return invalid(text);
  return name;
}

std::pair<std::string, std::string> variable(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace

Result<ImageName> parse_image_name(std::string_view text) {
  if (text.starts_with(kLocal)) return parse_local(text);
  ImageName name;
  std::string_view rest = text;
  if (const auto at = rest.find('@'); at != std::string_view::npos) {
    name.digest = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!is_digest(name.digest)) return invalid(text);
  }
  const auto slash = rest.rfind('/');
  if (const auto colon = rest.rfind(':');
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    name.tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!is_tag(name.tag)) return invalid(text);
  }
  // A first part with a dot or a port is a registry; anything else belongs to the default one.
  const auto first = rest.substr(0, rest.find('/'));
  const bool has_registry =
      first.size() < rest.size() && (first.find_first_of(".:") != std::string_view::npos || first == "localhost");
  name.registry = has_registry ? first : "docker.io";
  name.repository = has_registry ? rest.substr(first.size() + 1) : rest;
  if (!has_registry && rest.find('/') == std::string_view::npos) name.repository = "library/" + name.repository;
  if (name.registry == "docker.io" && name.repository.find('/') == std::string::npos)
    name.repository = "library/" + name.repository;
  if (!name.digest.empty()) name.tag.clear();
  if (name.digest.empty() && name.tag.empty()) name.tag = "latest";
  if (!is_registry(name.registry) || !is_repository(name.repository)) return invalid(text);
  return name;
}

std::string ImageName::canonical() const {
  if (local) return source();
  return registry + "/" + repository + (digest.empty() ? ":" + tag : "@" + digest);
}

std::string ImageName::source() const {
  if (local) return "oci:" + repository + ":" + tag;
  return "docker://" + canonical();
}

std::string ImageName::source_at(std::string_view digest_wanted) const {
  if (local) return source();
  return "docker://" + registry + "/" + repository + "@" + std::string(digest_wanted);
}

std::string ImageName::id_at(std::string_view digest_found) const {
  return (local ? "oci:" + repository : registry + "/" + repository) + "@" + std::string(digest_found);
}

bool ImageName::insecure() const {
  const auto host = registry.substr(0, registry.rfind(':'));
  return !local && (host == "localhost" || host.starts_with("127.") || host == "[::1]");
}

std::string auth_file(const std::vector<RegistryLogin>& logins) {
  json::Object auths;
  for (const auto& login : logins) {
    auths[login.registry] = json::Object{{"auth", base64_encode(login.user + ":" + login.password)}};
  }
  return json::serialize(json::Object{{"auths", std::move(auths)}});
}

ImageDefaults image_defaults(const json::Value& config) {
  ImageDefaults result;
  result.entrypoint = json::strings_at(config, {"config", "Entrypoint"});
  result.command = json::strings_at(config, {"config", "Cmd"});
  for (const auto& entry : json::strings_at(config, {"config", "Env"})) result.environment.push_back(variable(entry));
  result.working_directory = json::string_at(config, {"config", "WorkingDir"});
  result.user = json::string_at(config, {"config", "User"});
  result.stop_signal = json::string_at(config, {"config", "StopSignal"});
  return result;
}

Result<std::string> manifest_digest(const json::Value& index) {
  const auto& manifests = json::array_at(index, {"manifests"});
  if (manifests.empty()) return bad_request("the image has no manifest");
  return std::string(json::string_at(manifests.front(), {"digest"}));
}

Result<std::string> config_digest(const json::Value& manifest) {
  const auto digest = json::string_at(manifest, {"config", "digest"});
  if (digest.empty()) return bad_request("the image's manifest names no config");
  return std::string(digest);
}

std::int64_t layer_bytes(const json::Value& manifest) {
  std::int64_t bytes = 0;
  for (const auto& layer : json::array_at(manifest, {"layers"})) bytes += json::int_at(layer, {"size"});
  return bytes;
}

}  // namespace gangway::agent::oci
