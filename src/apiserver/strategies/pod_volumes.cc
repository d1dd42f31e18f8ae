// The volumes of a pod. Kinds of volumes that only some providers have are checked for being the only one.
#include <fmt/format.h>

#include <array>

#include "apiserver/strategies/pod_spec.h"
#include "apiserver/strategies/volumes.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::int64_t kHighestMode = 0777;
constexpr std::int64_t kShortestToken = 600;
constexpr std::int64_t kLongestToken = std::int64_t{1} << 32;

void check_items(const Field& items) {
  for (const auto& item : items.items()) {
    if (item["key"].empty()) item["key"].required();
    if (item["path"].empty()) item["path"].required();
    check_relative_path(item["path"]);
    if (item["path"].text().starts_with("..") && item["path"].text() != ".." &&
        !item["path"].text().starts_with("../")) {
      item["path"].invalid("must not start with '..'");
    }
    check_file_mode(item["mode"]);
  }
}

void check_files(const Field& items) {
  for (const auto& item : items.items()) {
    if (item["path"].empty()) item["path"].required();
    check_relative_path(item["path"]);
    check_file_mode(item["mode"]);
    if (item["fieldRef"]) {
      check_field_reference(item["fieldRef"], {"metadata.annotations", "metadata.labels", "metadata.name",
                                               "metadata.namespace", "metadata.uid"});
    } else if (!item["resourceFieldRef"]) {
      item.required("one of fieldRef and resourceFieldRef is required");
    }
  }
}

void check_token(const Field& token, const Field& projected) {
  auto seconds = token["expirationSeconds"];
  if (seconds.integer_or(kShortestToken) < kShortestToken) {
    seconds.invalid("may not specify a duration less than 10 minutes");
  }
  if (seconds.integer_or(0) > kLongestToken) seconds.invalid("may not specify a duration larger than 2^32 seconds");
  if (token["path"].empty()) projected["path"].required();
  check_relative_path(Field(token["path"].value(), projected["path"].path(), token.causes()));
}

void check_projected(const Field& projected) {
  check_file_mode(projected["defaultMode"]);
  for (const auto& source : projected["sources"].items()) {
    int types = 0;
    for (auto type : {"secret", "configMap"}) {
      if (!source[type]) continue;
      ++types;
      if (source[type]["name"].empty()) source[type]["name"].required();
      check_items(source[type]["items"]);
    }
    if (source["downwardAPI"]) {
      ++types;
      check_files(source["downwardAPI"]["items"]);
    }
    if (source["serviceAccountToken"]) {
      ++types;
      check_token(source["serviceAccountToken"], projected);
    }
    if (types > 1) source.forbidden("may not specify more than 1 volume type per source");
  }
}

void check_source(std::string_view type, const Field& source) {
  if (type == "hostPath") {
    if (source["path"].empty()) return source["path"].required();
    check_no_backsteps(source["path"]);
    source["type"].one_of(
        {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"});
  } else if (type == "secret" || type == "configMap") {
    if (type == "configMap" && source["name"].empty()) source["name"].required();
    check_file_mode(source["defaultMode"]);
    check_items(source["items"]);
  } else if (type == "downwardAPI") {
    check_file_mode(source["defaultMode"]);
    check_files(source["items"]);
  } else if (type == "projected") {
    check_projected(source);
  } else if (type == "emptyDir") {
    if (auto limit = source["sizeLimit"].quantity(); limit && limit->is_negative()) {
      source["sizeLimit"].forbidden("SizeLimit field must be a valid resource quantity");
    }
  } else if (type == "persistentVolumeClaim") {
    if (source["claimName"].empty()) source["claimName"].required();
  } else if (type == "nfs") {
    if (source["server"].empty()) source["server"].required();
    if (source["path"].empty()) source["path"].required();
    if (!source["path"].empty() && !source["path"].text().starts_with('/')) {
      source["path"].invalid("must be an absolute path");
    }
  } else if (type == "ephemeral") {
    auto claim = source["volumeClaimTemplate"];
    if (!claim) return claim.required();
    check_claim_spec(claim["spec"]);
  }
}

void check_volume(const Field& volume) {
  bool found = false;
  for (const auto& [key, value] : volume.value()->as_object()) {
    if (key == "name" || value.is_null()) continue;
    auto source = volume[key];
    if (found) {
      source.forbidden("may not specify more than 1 volume type");
      continue;
    }
    found = true;
    check_source(key, source);
  }
  if (!found) volume.required("must specify a volume type");
}

}  // namespace

std::set<std::string_view> check_volumes(const Field& volumes) {
  std::set<std::string_view> names;
  for (const auto& volume : volumes.items()) {
    if (!volume.value() || !volume.value()->is_object()) continue;
    auto before = volume.causes().size();
    check_volume(volume);
    auto name = volume["name"];
    if (!name.empty()) name.invalid_each(names::check_dns1123_label(name.text()));
    if (names.contains(name.text())) name.duplicate();
    if (volume.causes().size() == before) names.insert(name.text());
  }
  return names;
}

void check_relative_path(const Field& path) {
  if (path.empty()) return;
  if (path.text().starts_with('/')) path.invalid("must be a relative path");
  check_no_backsteps(path);
}

void check_file_mode(const Field& mode) {
  auto number = mode.integer();
  if (number && (*number < 0 || *number > kHighestMode)) {
    mode.invalid("must be a number between 0 and 0777 (octal), both inclusive");
  }
}

void check_field_reference(const Field& reference, std::initializer_list<std::string_view> supported) {
  auto path = reference["fieldPath"];
  if (path.empty()) return path.required();
  auto text = path.text();
  if (auto open = text.find("['"); open != std::string_view::npos && text.ends_with("']")) {
    auto field = text.substr(0, open);
    std::string key(text.substr(open + 2, text.size() - open - 4));
    if (field != "metadata.annotations" && field != "metadata.labels") {
      return path.invalid(fmt::format("error converting fieldPath: field label does not support subscript: {}", text));
    }
    if (field == "metadata.annotations") {
      for (char& c : key) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      }
    }
    for (const auto& message : names::check_qualified_name(key)) reference.invalid(json::Value(key), message);
    return;
  }
  constexpr std::array<std::string_view, 11> kKnown = {
      "metadata.annotations", "metadata.labels",         "metadata.name", "metadata.namespace", "metadata.uid",
      "spec.nodeName",        "spec.serviceAccountName", "status.hostIP", "status.hostIPs",     "status.podIP",
      "status.podIPs"};
  if (std::find(kKnown.begin(), kKnown.end(), text) == kKnown.end()) {
    return path.invalid(fmt::format("error converting fieldPath: field label not supported: {}", text));
  }
  path.one_of(supported);
}

}  // namespace gangway::apiserver
