// Names and descriptions of images, as pure functions: what a name means, what skopeo is asked, what an image says
// about how to run it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/runtime_types.h"
#include "base/result.h"
#include "json/value.h"

namespace gangway::agent::oci {

// "nginx" is docker.io/library/nginx:latest; "oci:/path:tag" is a local OCI layout.
struct ImageName {
  bool local = false;
  std::string registry;    // "docker.io"
  std::string repository;  // "library/nginx"; the path of a local layout
  std::string tag;         // empty with a digest
  std::string digest;      // "sha256:…"

  // What it is known as: equal for all ways to write one image.
  std::string canonical() const;
  // What skopeo calls it.
  std::string source() const;
  // The same image by what it is, not by what it is called now. Layouts cannot be asked like that.
  std::string source_at(std::string_view digest_wanted) const;
  // What a container's status shows.
  std::string id_at(std::string_view digest_found) const;
  // Registries on this machine speak plain HTTP.
  bool insecure() const;
};
Result<ImageName> parse_image_name(std::string_view text);

// containers-auth.json(5) for the logins.
std::string auth_file(const std::vector<RegistryLogin>& logins);

// The config of an image (application/vnd.oci.image.config.v1+json or Docker's).
ImageDefaults image_defaults(const json::Value& config);
// The digest of the one manifest in an OCI layout's index.json; of a manifest's config; the bytes of its layers.
Result<std::string> manifest_digest(const json::Value& index);
Result<std::string> config_digest(const json::Value& manifest);
std::int64_t layer_bytes(const json::Value& manifest);

}  // namespace gangway::agent::oci
