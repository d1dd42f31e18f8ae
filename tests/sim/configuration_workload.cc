#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "client/resource.h"
#include "sim/workload.h"

namespace gangway::sim {
namespace {

namespace resources = client::resources;
using std::chrono::seconds;

// Objects of two kinds, since what is about two kinds comes in no order.
const client::Resource kSecrets{"", "v1", "secrets"};

const client::Resource& resource_of(const api::ObjectKey& key) {
  return key.resource == "secrets" ? kSecrets : resources::kConfigMaps;
}

class ConfigurationWorkload final : public Workload {
 public:
  explicit ConfigurationWorkload(User& user) : user_(user) {}

  void start(sys::Task done) override {
    done_ = std::move(done);
    steps_left_ = user_.random().between(4, 30);
    make_namespace();
  }

  void judge(const store::Root& root, Verdicts& verdicts) const override {
    for (const auto& [key, there] : wanted_) {
      if (there == static_cast<bool>(root.get(key))) continue;
      verdicts.broken(
          fmt::format("{} {}/{} should {}be there", key.resource, key.object.ns, key.object.name, there ? "" : "not "));
    }
  }

 private:
  void next() {
    if (steps_left_-- <= 0) return done_();
    const bool hurries = user_.random().below(4) != 0;
    user_.wait(user_.random().up_to(hurries ? seconds(2) : seconds(40)), [this] {
      switch (user_.random().below(6)) {
        case 0:
          return make_namespace();
        case 1:
          return remove_namespace();
        case 2:
          return remove_one();
        default:
          return make_one();
      }
    });
  }

  void make_namespace() {
    auto ns = fmt::format("{}-{}", user_.name(), ++serial_);
    user_.create(resources::kNamespaces, json::Object{{"metadata", json::Object{{"name", ns}}}}, [this, ns] {
      wanted_[{"namespaces", {"", ns}}] = true;
      next();
    });
  }

  // What should be there: the namespaces, or what is in `ns`; in all of them when that is empty.
  std::vector<api::ObjectKey> namespaces() const {
    std::vector<api::ObjectKey> all;
    for (const auto& [key, there] : wanted_)
      if (there && key.resource == "namespaces") all.push_back(key);
    return all;
  }
  std::vector<api::ObjectKey> objects(const std::string& ns = {}) const {
    std::vector<api::ObjectKey> all;
    for (const auto& [key, there] : wanted_)
      if (there && key.resource != "namespaces" && (ns.empty() || key.object.ns == ns)) all.push_back(key);
    return all;
  }

  void remove_namespace() {
    const auto all = namespaces();
    if (all.size() < 2) return next();
    const auto key = user_.random().pick(all);
    wanted_[key] = false;
    for (const auto& object : objects(key.object.name)) wanted_[object] = false;
    user_.remove(resources::kNamespaces, key.object, json::Object{}, [this] { next(); });
  }

  // Alone, or owned by another one of the same namespace.
  void make_one() {
    const auto ns = user_.random().pick(namespaces()).object.name;
    const api::ObjectKey key{user_.random().below(2) == 0 ? "secrets" : "configmaps",
                             {ns, fmt::format("object-{}", ++serial_)}};
    const auto owners = objects(ns);
    if (owners.empty() || user_.random().below(3) == 0) return create(key, nullptr, {});
    const auto owner = user_.random().pick(owners);
    user_.read(resource_of(owner), owner.object, [this, key, owner](const api::Version& version) {
      if (!version) return next();
      create(key,
             json::Array{json::Object{{"apiVersion", "v1"},
                                      {"kind", owner.resource == "secrets" ? "Secret" : "ConfigMap"},
                                      {"name", owner.object.name},
                                      {"uid", version.header->uid},
                                      {"blockOwnerDeletion", user_.random().below(2) == 0}}},
             owner);
    });
  }

  void create(const api::ObjectKey& key, json::Value owners, const api::ObjectKey& owner) {
    json::Object metadata{{"name", key.object.name}, {"namespace", key.object.ns}};
    if (!owners.is_null()) metadata["ownerReferences"] = std::move(owners);
    user_.create(resource_of(key), json::Object{{"metadata", std::move(metadata)}}, [this, key, owner] {
      wanted_[key] = true;
      if (!owner.object.name.empty()) owners_[key] = owner;
      next();
    });
  }

  void remove_one() {
    const auto all = objects();
    if (all.empty()) return next();
    const auto key = user_.random().pick(all);
    const std::vector<std::string> policies = {"Background", "Foreground", "Orphan"};
    const auto policy = user_.random().pick(policies);
    forget(key, policy == "Orphan");
    user_.remove(resource_of(key), key.object, json::Object{{"propagationPolicy", policy}}, [this] { next(); });
  }

  // With everything that it owned, unless that is let go.
  void forget(const api::ObjectKey& key, bool orphan) {
    wanted_[key] = false;
    std::vector<api::ObjectKey> owned;
    for (const auto& [dependent, owner] : owners_)
      if (owner == key) owned.push_back(dependent);
    for (const auto& dependent : owned) {
      owners_.erase(dependent);
      if (!orphan) forget(dependent, false);
    }
  }

  User& user_;
  sys::Task done_;
  std::int64_t steps_left_ = 0;
  int serial_ = 0;
  std::map<api::ObjectKey, bool> wanted_;  // whether it should be there
  std::map<api::ObjectKey, api::ObjectKey> owners_;
};

}  // namespace

std::unique_ptr<Workload> configuration_workload(User& user) {
  return std::make_unique<ConfigurationWorkload>(user);
}

}  // namespace gangway::sim
