#include "agent/references/named_objects.h"

namespace gangway::agent {
namespace {

void add_volume(const PodSpec& pod, const PodVolume& volume, NamedObjects& out) {
  if (const auto* claim = std::get_if<ClaimSource>(&volume.source)) out.claims.insert(claim->claim);
  const auto* files = std::get_if<FilesSource>(&volume.source);
  if (files == nullptr) return;
  for (const Projection& projection : files->projections) {
    if (const auto* keys = std::get_if<KeysSource>(&projection)) out.keys.insert({keys->in, pod.pod.ns, keys->name});
    if (const auto* token = std::get_if<TokenSource>(&projection))
      out.tokens.insert({pod.service_account, token->audience, token->seconds});
  }
}

void add_container(const PodSpec& pod, const PodContainer& container, NamedObjects& out) {
  for (const EnvironmentSource& source : container.environment_sources)
    out.keys.insert({source.in, pod.pod.ns, source.name});
  for (const EnvironmentVariable& variable : container.environment) {
    if (const auto* key = std::get_if<KeyReference>(&variable.value)) out.keys.insert({key->in, pod.pod.ns, key->name});
  }
}

}  // namespace

NamedObjects named_objects(const PodSpec& pod) {
  NamedObjects out;
  for (const PodVolume& volume : pod.volumes) add_volume(pod, volume, out);
  for (const PodContainer& container : pod.containers) add_container(pod, container, out);
  for (const std::string& secret : pod.pull_secrets) out.keys.insert({KeyHolder::kSecret, pod.pod.ns, secret});
  return out;
}

}  // namespace gangway::agent
