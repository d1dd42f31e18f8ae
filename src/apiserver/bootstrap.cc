#include "apiserver/bootstrap.h"

#include <fmt/format.h>

#include <algorithm>

namespace gangway::apiserver {
namespace {

constexpr std::string_view kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr std::string_view kManager = "gangway";

// The elements of `wanted` that `present` lacks, put behind it. True when there were any.
bool add_missing(json::Value& present, const json::Value& wanted) {
  if (!present.is_array()) present = json::Array();
  bool added = false;
  for (const auto& element : wanted.as_array()) {
    auto& elements = present.get_array();
    if (std::any_of(elements.begin(), elements.end(), [&](const json::Value& e) { return json::equal(e, element); }))
      continue;
    elements.push_back(element);
    added = true;
  }
  return added;
}

class Bootstrap : public std::enable_shared_from_this<Bootstrap> {
 public:
  Bootstrap(client::ApiClient& client, const Registry& registry, std::vector<json::Value> objects,
            sys::Completion<void> done)
      : client_(client), registry_(registry), objects_(std::move(objects)), done_(std::move(done)) {}

  void run() { make_all(true); }

 private:
  bool is_namespace(const json::Value& object) const { return json::string_at(object, {"kind"}) == "Namespace"; }

  void make_all(bool namespaces) {
    outstanding_ = 1;
    for (const auto& object : objects_) {
      if (is_namespace(object) != namespaces) continue;
      ++outstanding_;
      make(object);
    }
    namespaces_ = namespaces;
    finish_one({});
  }

  client::ApiRequest request_for(const json::Value& object, client::Method method) const {
    auto api_version = json::string_at(object, {"apiVersion"});
    auto slash = api_version.find('/');
    auto group = slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
    auto version = slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
    auto kind = registry_.resolve_kind(group, version, json::string_at(object, {"kind"}));
    client::ApiRequest request;
    request.method = method;
    request.resource = {std::string(group), std::string(version), kind ? kind->kind->plural : "unknown"};
    request.object = {std::string(json::string_at(object, {"metadata", "namespace"})),
                      std::string(json::string_at(object, {"metadata", "name"}))};
    request.field_manager = kManager;
    return request;
  }

  void make(const json::Value& object) {
    auto request = request_for(object, client::Method::kCreate);
    request.object.name.clear();
    request.body = json::serialize(object);
    client_.call(std::move(request), [self = shared_from_this(), &object](Result<api::Version> made) {
      if (made) return self->finish_one({});
      if (made.error().reason != Reason::kAlreadyExists) return self->finish_one(made.error());
      self->repair(object);
    });
  }

  void repair(const json::Value& wanted) {
    if (json::string_at(wanted, {"metadata", "annotations", kAutoUpdate}) != "true") return finish_one({});
    client_.call(request_for(wanted, client::Method::kGet),
                 [self = shared_from_this(), &wanted](Result<api::Version> found) {
                   if (!found) return self->finish_one(found.error());
                   auto object = json::parse(*found->json);
                   if (!object) return self->finish_one(object.error());
                   self->put_back(wanted, std::move(*object));
                 });
  }

  void put_back(const json::Value& wanted, json::Value object) {
    if (json::string_at(object, {"metadata", "annotations", kAutoUpdate}) != "true") return finish_one({});
    bool changed = false;
    for (auto field : {"rules", "subjects"}) {
      const auto* elements = wanted.as_object().if_contains(field);
      // The rules of an aggregated role are the aggregation's.
      if (elements && elements->is_array() && !object.as_object().contains("aggregationRule")) {
        changed |= add_missing(object.as_object()[field], *elements);
      }
    }
    if (!changed) return finish_one({});
    auto request = request_for(wanted, client::Method::kUpdate);
    request.body = json::serialize(object);
    client_.call(std::move(request), [self = shared_from_this()](Result<api::Version> updated) {
      self->finish_one(updated ? Result<void>() : Result<void>(updated.error()));
    });
  }

  void finish_one(Result<void> result) {
    if (!result && result_) result_ = std::move(result);
    if (--outstanding_ > 0) return;
    if (result_ && namespaces_) return make_all(false);
    done_(std::move(result_));
  }

  client::ApiClient& client_;
  const Registry& registry_;
  const std::vector<json::Value> objects_;
  sys::Completion<void> done_;
  std::size_t outstanding_ = 0;
  bool namespaces_ = true;
  Result<void> result_;
};

}  // namespace

void ensure_initial_objects(client::ApiClient& client, const Registry& registry, std::vector<json::Value> objects,
                            sys::Completion<void> done) {
  std::make_shared<Bootstrap>(client, registry, std::move(objects), std::move(done))->run();
}

}  // namespace gangway::apiserver
