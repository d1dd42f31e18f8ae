#include <fmt/format.h>

#include <algorithm>

#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kFinalizer = "kubernetes";
constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

Result<void> admit(Review& review) {
  if (review.operation != Operation::kDelete) return {};
  auto name = json::string_at(review.object, {"metadata", "name"});
  if (name != "default" && name != "kube-system" && name != "kube-public") return {};
  return forbidden(review, "this namespace may not be deleted");
}

void add_defaults(json::Value& object) {
  if (auto name = std::string(json::string_at(object, {"metadata", "name"})); !name.empty()) {
    json::object_at(object, {"metadata", "labels"})[kNameLabel] = name;
  }
}

// The label is set here too, because a generated name is known only now.
void prepare(Review& review) {
  auto& object = review.object;
  std::string name(json::string_at(object, {"metadata", "name"}));
  json::object_at(object, {"metadata", "labels"})[kNameLabel] = std::move(name);
  if (review.operation == Operation::kCreate) {
    object.as_object()["status"] = json::Object{{"phase", "Active"}};
    auto& finalizers = json::object_at(object, {"spec"})["finalizers"];
    if (!finalizers.is_array()) finalizers = json::Array();
    auto& list = finalizers.get_array();
    if (std::find(list.begin(), list.end(), json::Value(kFinalizer)) == list.end()) list.emplace_back(kFinalizer);
    return;
  }
  if (review.subresource.empty()) keep_old(review, {"spec", "finalizers"});
  if (review.subresource == "finalize") keep_old(review, {"status"});
}

void check_finalizers(const Field& finalizers, bool by_index) {
  for (const auto& item : finalizers.items()) {
    const auto& place = by_index ? item : finalizers;
    for (const auto& message : names::check_qualified_name(item.text())) place.invalid(*item.value(), message);
    if (item.text().find('/') == std::string_view::npos && item.text() != kFinalizer && item.text() != "orphan" &&
        item.text() != "foregroundDeletion") {
      place.invalid(*item.value(), "name is neither a standard finalizer name nor is it fully qualified");
    }
  }
}

void check_status(const Field& object) {
  auto phase = object["status"]["phase"];
  bool deleting = object["metadata"]["deletionTimestamp"].exists();
  Field place(phase.value(), "status.Phase", object.causes());
  if (!deleting && phase.text() != "Active") place.invalid("may only be 'Active' if `deletionTimestamp` is empty");
  if (deleting && phase.text() != "Terminating") {
    place.invalid("may only be 'Terminating' if `deletionTimestamp` is not empty");
  }
}

void validate(Review& review) {
  auto object = new_object(review);
  if (review.subresource == "status") return check_status(object);
  check_finalizers(object["spec"]["finalizers"], review.subresource == "finalize");
}

void on_delete(json::Value& object) {
  json::object_at(object, {"status"})["phase"] = "Terminating";
  // A namespace takes as long as its contents do.
  json::object_at(object, {"metadata"}).erase("deletionGracePeriodSeconds");
}

}  // namespace

const Strategy& namespace_strategy() {
  static const Strategy strategy{.add_defaults = add_defaults,
                                 .admit = admit,
                                 .prepare = prepare,
                                 .validate = validate,
                                 .on_delete = on_delete,
                                 .returns_deleted = true,
                                 .check_name = names::check_dns1123_label};
  return strategy;
}

}  // namespace gangway::apiserver
