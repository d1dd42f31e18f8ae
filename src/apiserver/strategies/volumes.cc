// PersistentVolume and PersistentVolumeClaim.
#include "apiserver/strategies/volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/metadata.h"
#include "apiserver/strategies/labels.h"
#include "apiserver/strategies/resources.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"
#include "base/time.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kBetaClass = "volume.beta.kubernetes.io/storage-class";
constexpr std::string_view kDefaultClass = "storageclass.kubernetes.io/is-default-class";
constexpr std::string_view kBetaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class";
constexpr std::string_view kStorageClasses = "storageclasses.storage.k8s.io";

// The fields of a PersistentVolumeSpec that say where the data is.
constexpr std::array<std::string_view, 22> kVolumeSources = {"awsElasticBlockStore",
                                                             "azureDisk",
                                                             "azureFile",
                                                             "cephfs",
                                                             "cinder",
                                                             "csi",
                                                             "fc",
                                                             "flexVolume",
                                                             "flocker",
                                                             "gcePersistentDisk",
                                                             "glusterfs",
                                                             "hostPath",
                                                             "iscsi",
                                                             "local",
                                                             "nfs",
                                                             "photonPersistentDisk",
                                                             "portworxVolume",
                                                             "quobyte",
                                                             "rbd",
                                                             "scaleIO",
                                                             "storageos",
                                                             "vsphereVolume"};

bool has_class(const json::Value& claim) {
  return json::find(claim, {"spec", "storageClassName"}) != nullptr ||
         json::find(claim, {"metadata", "annotations", kBetaClass}) != nullptr;
}

// Of several default classes the newest counts, then the first by name.
std::string default_class(const Facts& facts) {
  api::Version best;
  for (const auto& version : facts.state.objects(std::string(kStorageClasses))) {
    auto object = json::parse(*version.json);
    if (!object) continue;
    if (json::string_at(*object, {"metadata", "annotations", kDefaultClass}) != "true" &&
        json::string_at(*object, {"metadata", "annotations", kBetaDefaultClass}) != "true") {
      continue;
    }
    if (!best || version.header->created > best.header->created) best = version;
  }
  return best ? best.header->name.name : std::string();
}

Result<void> admit_claim(Review& review) {
  if (review.operation != Operation::kCreate || !review.subresource.empty() || has_class(review.object)) return {};
  auto name = default_class(review.facts);
  if (!name.empty()) json::object_at(review.object, {"spec"})["storageClassName"] = name;
  return {};
}

void prepare_claim(Review& review) {
  if (review.operation == Operation::kCreate) review.object.as_object()["status"] = json::Object{{"phase", "Pending"}};
  auto* spec = json::find(review.object, {"spec"});
  if (!spec || !spec->is_object()) return;
  auto& fields = spec->get_object();
  const auto* source = fields.if_contains("dataSource");
  const auto* reference = fields.if_contains("dataSourceRef");
  if (source && !reference) {
    auto copy = *source;
    fields["dataSourceRef"] = std::move(copy);
  } else if (reference && !source && json::string_at(*reference, {"namespace"}).empty()) {
    auto copy = *reference;
    fields["dataSource"] = std::move(copy);
  }
}

// The spec without what an update may change.
json::Value frozen_part(const json::Value& claim, const json::Value& before, bool bound) {
  const auto* spec = json::find(claim, {"spec"});
  json::Value frozen = spec ? *spec : json::Value(json::Object());
  auto& fields = frozen.as_object();
  if (json::string_at(before, {"spec", "volumeName"}).empty()) fields.erase("volumeName");
  if (!has_class(before)) fields.erase("storageClassName");
  if (bound) {
    fields.erase("volumeAttributesClassName");
    if (auto* requests = json::find(frozen, {"resources", "requests"}); requests && requests->is_object()) {
      requests->get_object().erase("storage");
    }
  }
  return frozen;
}

void check_claim_update(Review& review, const Field& claim, const Field& before) {
  bool bound = claim["status"]["phase"].text() == "Bound";
  if (!json::equal(frozen_part(review.object, *review.old, bound), frozen_part(*review.old, *review.old, bound))) {
    claim["spec"].forbidden(
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims");
  }
  auto size = claim["spec"]["resources"]["requests"]["storage"].quantity();
  auto old_size = before["spec"]["resources"]["requests"]["storage"].quantity();
  auto held = before["status"]["capacity"]["storage"].quantity().value_or(Quantity());
  if (size && old_size && *size < *old_size && *size <= held) {
    claim["spec"]["resources"]["requests"]["storage"].forbidden("field can not be less than status.capacity");
  }
  Field(claim["spec"]["volumeMode"].value(), "volumeMode", review.causes).immutable(before["spec"]["volumeMode"]);
}

void validate_claim(Review& review) {
  if (review.subresource == "status") return;
  auto claim = new_object(review);
  check_claim_spec(claim["spec"]);
  if (review.old) check_claim_update(review, claim, old_object(review));
}

void prepare_volume(Review& review) {
  auto now = to_rfc3339(review.facts.now);
  if (review.operation == Operation::kCreate) {
    review.object.as_object()["status"] = json::Object{{"phase", "Pending"}, {"lastPhaseTransitionTime", now}};
    return;
  }
  if (review.subresource != "status") return;
  auto phase = json::string_at(review.object, {"status", "phase"});
  if (phase != json::string_at(*review.old, {"status", "phase"})) {
    json::object_at(review.object, {"status"})["lastPhaseTransitionTime"] = now;
  }
}

json::Object source_of(const Field& spec) {
  json::Object source;
  for (auto name : kVolumeSources) {
    if (spec[name]) source[name] = *spec[name].value();
  }
  return source;
}

void check_volume_source(const Field& spec) {
  bool found = false;
  for (auto name : kVolumeSources) {
    auto source = spec[name];
    if (!source) continue;
    if (found) source.forbidden("may not specify more than 1 volume type");
    found = true;
  }
  if (!found) spec.required("must specify a volume type");
  for (auto name : {"hostPath", "local"}) {
    if (!spec[name]) continue;
    if (spec[name]["path"].empty()) spec[name]["path"].required();
    check_no_backsteps(spec[name]["path"]);
  }
  if (spec["local"] && !spec["nodeAffinity"]) {
    spec["nodeAffinity"].required("Local volume requires node affinity");
  }
}

void check_volume_spec(const Field& spec) {
  if (spec["accessModes"].empty()) spec["accessModes"].required();
  check_access_modes(spec["accessModes"]);
  auto capacity = spec["capacity"];
  if (capacity.empty()) capacity.required();
  if (!capacity.key("storage") || capacity.size() > 1) capacity.not_supported({"storage"});
  for (const auto& [name, amount] : capacity.entries()) {
    auto quantity = amount.quantity();
    if (quantity && (quantity->is_zero() || quantity->is_negative())) {
      amount.invalid(json::Value(quantity->to_string()), "must be greater than zero");
    }
  }
  check_volume_source(spec);
  if (!spec["storageClassName"].empty()) {
    spec["storageClassName"].invalid_each(names::check_dns1123_subdomain(spec["storageClassName"].text()));
  }
}

void validate_volume(Review& review) {
  if (review.subresource == "status") return;
  auto spec = new_object(review)["spec"];
  check_volume_spec(spec);
  if (!review.old) return;
  auto before = old_object(review)["spec"];
  if (!json::equal(source_of(spec), source_of(before))) {
    spec["persistentvolumesource"].forbidden("spec.persistentvolumesource is immutable after creation");
  }
  Field(spec["volumeMode"].value(), "volumeMode", review.causes).immutable(before["volumeMode"]);
  if (before["nodeAffinity"]) {
    Field(spec["nodeAffinity"].value(), "nodeAffinity", review.causes).immutable(before["nodeAffinity"]);
  }
}

}  // namespace

void check_access_modes(const Field& modes) {
  bool exclusive = false;
  bool shared = false;
  for (const auto& mode : modes.items()) {
    auto text = mode.text();
    if (text == "ReadWriteOncePod") {
      exclusive = true;
    } else if (text == "ReadOnlyMany" || text == "ReadWriteMany" || text == "ReadWriteOnce") {
      shared = true;
    } else {
      Field(mode.value(), modes.path(), modes.causes())
          .not_supported({"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
    }
  }
  if (exclusive && shared) modes.forbidden("may not use ReadWriteOncePod with other access modes");
}

void check_claim_spec(const Field& spec) {
  if (spec["accessModes"].empty()) spec["accessModes"].required("at least 1 access mode is required");
  check_selector(spec["selector"]);
  check_access_modes(spec["accessModes"]);
  auto storage = spec["resources"]["requests"]["storage"];
  Field place(storage.value(), spec["resources"].key("storage").path(), spec.causes());
  if (!storage) {
    place.required();
  } else if (auto size = storage.quantity(); size && (size->is_zero() || size->is_negative())) {
    place.invalid(json::Value(size->to_string()), "must be greater than zero");
  }
  auto storage_class = spec["storageClassName"];
  if (!storage_class.empty()) storage_class.invalid_each(names::check_dns1123_subdomain(storage_class.text()));
}

void check_no_backsteps(const Field& path) {
  std::string_view rest = path.text();
  while (!rest.empty()) {
    auto part = rest.substr(0, rest.find('/'));
    if (part == "..") return path.invalid("must not contain '..'");
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  }
}

const Strategy& volume_claim_strategy() {
  static const Strategy strategy{
      .admit = admit_claim, .prepare = prepare_claim, .validate = validate_claim, .returns_deleted = true};
  return strategy;
}

const Strategy& volume_strategy() {
  static const Strategy strategy{.prepare = prepare_volume, .validate = validate_volume, .returns_deleted = true};
  return strategy;
}

}  // namespace gangway::apiserver
