#include "agent/pod/reading.h"

namespace gangway::agent {
namespace {

std::optional<mode_t> read_mode(const json::Value& item) {
  const auto mode = json::int_at(item, {"mode"}, -1);
  return mode < 0 ? std::nullopt : std::optional(static_cast<mode_t>(mode));
}

// `name_key`: "name" of config maps and of projected secrets, "secretName" of secret volumes.
KeysSource read_keys(const json::Value& source, KeyHolder in, std::string_view name_key) {
  KeysSource out{in, text_at(source, {name_key}), {}, json::bool_at(source, {"optional"})};
  for (const json::Value& item : json::array_at(source, {"items"}))
    out.items.push_back({text_at(item, {"key"}), text_at(item, {"path"}), read_mode(item)});
  return out;
}

DownwardSource read_downward(const json::Value& source) {
  DownwardSource out;
  for (const json::Value& item : json::array_at(source, {"items"})) {
    DownwardItem entry{text_at(item, {"path"}), FieldReference{}, read_mode(item)};
    if (json::find(item, {"resourceFieldRef"}) != nullptr) {
      entry.value = read_resource_reference(item);
    } else {
      entry.value = read_field_reference(item);
    }
    out.items.push_back(std::move(entry));
  }
  return out;
}

std::string first_member(const json::Value& object, std::string_view except) {
  if (!object.is_object()) return "nothing";
  for (const auto& member : object.get_object()) {
    if (member.key() != except) return std::string(member.key());
  }
  return "nothing";
}

Projection read_projection(const json::Value& source) {
  if (const json::Value* map = json::find(source, {"configMap"})) return read_keys(*map, KeyHolder::kConfigMap, "name");
  if (const json::Value* secret = json::find(source, {"secret"})) return read_keys(*secret, KeyHolder::kSecret, "name");
  if (const json::Value* downward = json::find(source, {"downwardAPI"})) return read_downward(*downward);
  if (const json::Value* token = json::find(source, {"serviceAccountToken"})) {
    return TokenSource{text_at(*token, {"audience"}), json::int_at(*token, {"expirationSeconds"}, 3600),
                       text_at(*token, {"path"})};
  }
  return UnknownSource{first_member(source, "")};
}

mode_t default_mode_of(const json::Value& source) {
  return static_cast<mode_t>(json::int_at(source, {"defaultMode"}, 0644));
}

FilesSource single(const json::Value& source, Projection projection) {
  FilesSource out;
  out.projections.push_back(std::move(projection));
  out.default_mode = default_mode_of(source);
  return out;
}

FilesSource read_projected(const json::Value& source) {
  FilesSource out;
  out.default_mode = default_mode_of(source);
  for (const json::Value& projection : json::array_at(source, {"sources"}))
    out.projections.push_back(read_projection(projection));
  return out;
}

EmptyVolume read_empty(const json::Value& source, std::optional<gid_t> group) {
  EmptyVolume out;
  out.in_memory = json::string_at(source, {"medium"}) == "Memory";
  if (auto limit = Quantity::parse(json::string_at(source, {"sizeLimit"}))) out.size_limit_bytes = limit->value();
  out.group = group;
  return out;
}

HostPathType read_host_path_type(std::string_view text) {
  if (text == "Directory") return HostPathType::kDirectory;
  if (text == "DirectoryOrCreate") return HostPathType::kDirectoryOrCreate;
  if (text == "File") return HostPathType::kFile;
  if (text == "FileOrCreate") return HostPathType::kFileOrCreate;
  if (text == "Socket") return HostPathType::kSocket;
  if (text == "CharDevice") return HostPathType::kCharDevice;
  return text == "BlockDevice" ? HostPathType::kBlockDevice : HostPathType::kAny;
}

PodVolume read_volume(const json::Value& volume, std::optional<gid_t> group) {
  PodVolume out{text_at(volume, {"name"}), UnknownSource{}};
  if (const json::Value* map = json::find(volume, {"configMap"})) {
    out.source = single(*map, read_keys(*map, KeyHolder::kConfigMap, "name"));
  } else if (const json::Value* secret = json::find(volume, {"secret"})) {
    out.source = single(*secret, read_keys(*secret, KeyHolder::kSecret, "secretName"));
  } else if (const json::Value* downward = json::find(volume, {"downwardAPI"})) {
    out.source = single(*downward, read_downward(*downward));
  } else if (const json::Value* projected = json::find(volume, {"projected"})) {
    out.source = read_projected(*projected);
  } else if (const json::Value* empty = json::find(volume, {"emptyDir"})) {
    out.source = read_empty(*empty, group);
  } else if (const json::Value* host = json::find(volume, {"hostPath"})) {
    out.source = HostVolume{text_at(*host, {"path"}), read_host_path_type(json::string_at(*host, {"type"}))};
  } else if (const json::Value* claim = json::find(volume, {"persistentVolumeClaim"})) {
    out.source = ClaimSource{text_at(*claim, {"claimName"})};
  } else {
    out.source = UnknownSource{first_member(volume, "name")};
  }
  return out;
}

}  // namespace

std::vector<PodVolume> read_volumes(const json::Value& spec) {
  std::optional<gid_t> group;
  if (const auto id = json::int_at(spec, {"securityContext", "fsGroup"}, -1); id >= 0) group = static_cast<gid_t>(id);
  std::vector<PodVolume> out;
  for (const json::Value& volume : json::array_at(spec, {"volumes"})) out.push_back(read_volume(volume, group));
  return out;
}

}  // namespace gangway::agent
