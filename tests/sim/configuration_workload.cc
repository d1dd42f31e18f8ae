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
      switch (user_.random().below(7)) {
        case 0:
          return make_namespace();
        case 1:
          return remove_namespace();
        case 2:
          return remove_one();
        case 3:
          return make_some_and_remove_their_owner();
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

  api::ObjectKey a_new(const std::string& resource, const std::string& ns) {
    return {resource, {ns, fmt::format("object-{}", ++serial_)}};
  }

  // Alone, or owned by another one of the same namespace.
  void make_one() {
    const auto ns = user_.random().pick(namespaces()).object.name;
    const auto key = a_new(user_.random().below(2) == 0 ? "secrets" : "configmaps", ns);
    const auto owners = objects(ns);
    if (!owners.empty() && user_.random().below(3) != 0)
      return make_owned(key, user_.random().pick(owners), [this] { next(); });
    create(key, {}, [this, key] {
      wanted_[key] = true;
      next();
    });
  }

  void make_owned(const api::ObjectKey& key, const api::ObjectKey& owner, sys::Task then) {
    user_.read(resource_of(owner), owner.object, [this, key, owner, then](const api::Version& version) {
      if (!version) return next();
      json::Array owners{json::Object{{"apiVersion", "v1"},
                                      {"kind", owner.resource == "secrets" ? "Secret" : "ConfigMap"},
                                      {"name", owner.object.name},
                                      {"uid", version.header->uid},
                                      {"blockOwnerDeletion", user_.random().below(2) == 0}}};
      create(key, {{"ownerReferences", std::move(owners)}}, [this, key, owner, then] {
        wanted_[key] = true;
        owners_[key] = owner;
        then();
      });
    });
  }

  void create(const api::ObjectKey& key, json::Object metadata, sys::Task then) {
    metadata["name"] = key.object.name;
    metadata["namespace"] = key.object.ns;
    user_.create(resource_of(key), json::Object{{"metadata", std::move(metadata)}}, std::move(then));
  }

  // An owner goes before everybody has heard of what it owns.
  void make_some_and_remove_their_owner() {
    const auto all = objects();
    if (all.empty()) return make_one();
    make_for(user_.random().pick(all), user_.random().between(1, 3));
  }

  void make_for(const api::ObjectKey& owner, std::int64_t left) {
    if (left == 0) return remove(owner, user_.random().below(2) == 0 ? "Orphan" : a_policy());
    const auto key = a_new(owner.resource == "secrets" ? "configmaps" : "secrets", owner.object.ns);
    make_owned(key, owner, [this, owner, left] { make_for(owner, left - 1); });
  }

  void remove_one() {
    const auto all = objects();
    if (all.empty()) return next();
    remove(user_.random().pick(all), a_policy());
  }

  std::string a_policy() { return user_.random().pick(std::vector<std::string>{"Background", "Foreground", "Orphan"}); }

  void remove(const api::ObjectKey& key, const std::string& policy) {
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
