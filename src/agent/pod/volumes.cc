#include "agent/pod/volumes.h"

#include <fmt/format.h>

#include <functional>

#include "agent/pod/machine.h"
#include "base/hash.h"
#include "base/quote.h"

namespace gangway::agent {
namespace {

class FilesResolver {
 public:
  FilesResolver(const ResolveView& view, const FilesSource& source) : view_(view), source_(source) {
    files_.group = view.pod.volume_group;
  }

  Resolved<VolumeContent> resolve() {
    for (const Projection& projection : source_.projections) {
      auto problem = std::visit([this](const auto& each) { return add(each); }, projection);
      if (problem) return std::move(*problem);
    }
    return VolumeContent(std::move(files_));
  }

 private:
  using Problem = std::optional<Unresolved>;

  void add_file(const std::string& path, std::string content, std::optional<mode_t> mode) {
    files_.files.push_back({path, std::move(content), mode.value_or(source_.default_mode)});
  }

  Problem add(const KeysSource& keys) {
    using State = Looked<KeyValues>::State;
    if (keys.in == KeyHolder::kSecret) files_.in_memory = true;
    const auto found = view_.references.keys(keys.in, view_.pod.pod.ns, keys.name);
    if (found.state == State::kUnknown) return Unresolved{found.error.empty(), found.error};
    if (found.state == State::kMissing) {
      if (keys.optional) return std::nullopt;
      return Unresolved{false, not_found_text(keys.in, keys.name)};
    }
    if (keys.items.empty()) {
      for (const auto& [key, value] : *found.value) add_file(key, value, std::nullopt);
      return std::nullopt;
    }
    for (const KeyItem& item : keys.items) {
      const auto at = found.value->find(item.key);
      if (at != found.value->end()) {
        add_file(item.path, at->second, item.mode);
      } else if (!keys.optional) {
        return Unresolved{false, keys.in == KeyHolder::kSecret
                                     ? fmt::format("references non-existent secret key: {}", item.key)
                                     : fmt::format("configmap references non-existent config key: {}", item.key)};
      }
    }
    return std::nullopt;
  }

  Problem add(const DownwardSource& downward) {
    for (const DownwardItem& item : downward.items) {
      const auto* field = std::get_if<FieldReference>(&item.value);
      add_file(item.path,
               field != nullptr ? field_value(view_, field->path)
                                : resource_value(view_, std::get<ResourceReference>(item.value), {}),
               item.mode);
    }
    return std::nullopt;
  }

  Problem add(const TokenSource& token) {
    files_.in_memory = true;
    const auto found = view_.references.token(view_.pod.pod, view_.pod.service_account, token);
    if (found.state != Looked<std::string>::State::kFound) {
      return Unresolved{found.error.empty(), found.error};
    }
    add_file(token.path, *found.value, std::nullopt);
    return std::nullopt;
  }

  Problem add(const UnknownSource& unknown) {
    return Unresolved{false, fmt::format("projection {} is not run here", unknown.what)};
  }

  const ResolveView& view_;
  const FilesSource& source_;
  FilesVolume files_;
};

Resolved<VolumeContent> resolve_claim(const ResolveView& view, const ClaimSource& claim) {
  using State = Looked<ClaimedPath>::State;
  const auto found = view.references.claim(view.pod.pod.ns, claim.claim);
  if (found.state == State::kUnknown) return Unresolved{found.error.empty(), found.error};
  if (found.state == State::kMissing)
    return Unresolved{false, fmt::format("persistentvolumeclaim {} not found", quoted(claim.claim))};
  if (!found.value->problem.empty()) return Unresolved{false, found.value->problem};
  return VolumeContent(HostVolume{found.value->path, HostPathType::kDirectoryOrCreate});
}

// One value after the other with their lengths, so that no two lists of texts run together.
class Hash {
 public:
  Hash& add(std::string_view text) {
    state_ = fnv1a(text, state_ * 31 + text.size());
    return *this;
  }
  Hash& add(std::size_t number) { return add(std::to_string(number)); }
  std::size_t value() const { return state_ == 0 ? 1 : state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace

Resolved<VolumeContent> resolve_volume(const ResolveView& view, const PodVolume& volume) {
  if (const auto* files = std::get_if<FilesSource>(&volume.source)) return FilesResolver(view, *files).resolve();
  if (const auto* empty = std::get_if<EmptyVolume>(&volume.source)) return VolumeContent(*empty);
  if (const auto* host = std::get_if<HostVolume>(&volume.source)) return VolumeContent(*host);
  if (const auto* claim = std::get_if<ClaimSource>(&volume.source)) return resolve_claim(view, *claim);
  return Unresolved{false, fmt::format("volume {}: source {} is not run here", quoted(volume.name),
                                       std::get<UnknownSource>(volume.source).what)};
}

std::size_t hash_of(const VolumeContent& content) {
  Hash hash;
  hash.add(content.index());
  if (const auto* files = std::get_if<FilesVolume>(&content)) {
    for (const VolumeFile& file : files->files) hash.add(file.path).add(file.content).add(file.mode);
  } else if (const auto* host = std::get_if<HostVolume>(&content)) {
    hash.add(host->path);
  }
  return hash.value();
}

}  // namespace gangway::agent
