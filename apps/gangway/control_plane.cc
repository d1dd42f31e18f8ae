#include "control_plane.h"

#include <fmt/format.h>

#include <set>

#include "apiserver/direct_client.h"
#include "client/controller.h"
#include "client/mirror.h"
#include "controllers/cluster_role_aggregation.h"
#include "controllers/definition_cleanup.h"
#include "controllers/disruption.h"
#include "controllers/garbage_collector.h"
#include "controllers/namespace_controller.h"
#include "controllers/node_lease.h"
#include "controllers/node_registrar.h"
#include "controllers/service_account_controller.h"

namespace gangway {
namespace {

apiserver::UserInfo controller_user(const std::string& name) {
  return {"system:serviceaccount:kube-system:" + name,
          "",
          {"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
          {}};
}

// What the server serves, as the controllers ask for it.
class RegistryCatalog final : public controllers::ResourceCatalog {
 public:
  RegistryCatalog(apiserver::ApiServer& server, store::Store& store, sys::EventLoop& loop)
      : server_(server), store_(store), loop_(loop) {}

  Result<std::vector<controllers::ResourceInfo>> resources() const override {
    std::vector<controllers::ResourceInfo> all;
    std::set<api::ResourceName> seen;
    auto registry = server_.registry();
    for (const auto& kind : registry->kinds()) {
      // Kinds that share their storage are two views of the same objects.
      if (kind->stored && seen.insert(kind->storage_name).second) all.push_back(info_of(*kind));
    }
    return all;
  }

  std::optional<controllers::ResourceInfo> find_kind(std::string_view group, std::string_view name) const override {
    return find([&](const apiserver::KindInfo& kind) { return kind.group == group && kind.kind == name; });
  }

  std::optional<controllers::ResourceInfo> find_resource(std::string_view name) const override {
    return find([&](const apiserver::KindInfo& kind) { return kind.storage_name == name; });
  }

  std::unique_ptr<sys::Subscription> subscribe(sys::Task on_change) override {
    auto seen = std::make_shared<std::uint64_t>(server_.registry()->generation());
    return store_.on_publish(loop_, [this, seen, on_change = std::move(on_change)] {
      auto generation = server_.registry()->generation();
      if (std::exchange(*seen, generation) != generation) on_change();
    });
  }

 private:
  static controllers::ResourceInfo info_of(const apiserver::KindInfo& kind) {
    const auto* version = &kind.versions.front();
    for (const auto& candidate : kind.versions) {
      if (candidate.served && (!version->served || apiserver::more_stable(candidate.name, version->name)))
        version = &candidate;
    }
    bool deletable = kind.has_verb("delete") && kind.has_verb("list") && kind.has_verb("watch");
    return {{kind.group, version->name, kind.plural}, kind.kind, kind.namespaced, deletable};
  }

  template <class Matches>
  std::optional<controllers::ResourceInfo> find(Matches matches) const {
    auto registry = server_.registry();
    for (const auto& kind : registry->kinds()) {
      if (kind->stored && matches(*kind)) return info_of(*kind);
    }
    return std::nullopt;
  }

  apiserver::ApiServer& server_;
  store::Store& store_;
  sys::EventLoop& loop_;
};

std::set<std::string> names_of(const std::vector<controllers::NodeSpec>& nodes) {
  std::set<std::string> names;
  for (const auto& node : nodes) names.insert(node.name);
  return names;
}

}  // namespace

struct ControlPlane::Members {
  // One controller with the account it writes as.
  struct Running {
    std::unique_ptr<apiserver::DirectClient> client;
    std::unique_ptr<client::Controller> controller;
  };

  explicit Members(ControlPlaneParts given)
      : parts(std::move(given)),
        reader(parts.server, parts.store, parts.loop,
               {"system:kube-controller-manager", "", {"system:authenticated"}, {}}),
        mirror(reader, parts.loop),
        catalog(parts.server, parts.store, parts.loop),
        owner_probe(reader, parts.loop),
        content_probe(reader, parts.loop, catalog),
        instance_probe(reader),
        garbage(catalog),
        accounts(parts.authority_pem),
        registrar(parts.nodes, parts.system),
        leases(names_of(parts.nodes)) {
    add("generic-garbage-collector", garbage, &owner_probe);
    garbage_controller = running.back().controller.get();
    add("namespace-controller", namespaces, &content_probe);
    add("service-account-controller", accounts);
    add("clusterrole-aggregation-controller", aggregation);
    add("disruption-controller", disruption);
    add("definition-cleanup", cleanup, &instance_probe, sys::Lane::kNormal, true);
    // Nodes that live in this process are the process's own: it writes them with its own rights.
    add("node-registrar", registrar, nullptr, sys::Lane::kSystem, true);
    registrar_controller = running.back().controller.get();
    add("node-lease", leases, nullptr, sys::Lane::kSystem, true);
  }

  void add(const std::string& name, const client::Reconciler& reconciler, client::ProbeRunner* probes = nullptr,
           sys::Lane lane = sys::Lane::kNormal, bool as_server = false) {
    auto user = as_server ? apiserver::UserInfo{"system:apiserver", "", {"system:masters", "system:authenticated"}, {}}
                          : controller_user(name);
    Running entry;
    entry.client = std::make_unique<apiserver::DirectClient>(parts.server, parts.store, parts.loop, std::move(user));
    client::ControllerOptions options;
    options.name = name;
    options.lane = lane;
    entry.controller =
        std::make_unique<client::Controller>(*entry.client, parts.loop, mirror, reconciler, options, probes);
    running.push_back(std::move(entry));
  }

  ControlPlaneParts parts;
  apiserver::DirectClient reader;
  client::Mirror mirror;
  RegistryCatalog catalog;
  controllers::OwnerProbe owner_probe;
  controllers::ContentProbe content_probe;
  controllers::InstanceProbe instance_probe;
  controllers::GarbageCollector garbage;
  controllers::NamespaceController namespaces;
  controllers::ServiceAccountController accounts;
  controllers::ClusterRoleAggregation aggregation;
  controllers::DisruptionController disruption;
  controllers::DefinitionCleanup cleanup;
  controllers::NodeRegistrar registrar;
  controllers::NodeLease leases;
  std::vector<Running> running;
  client::Controller* garbage_controller = nullptr;
  client::Controller* registrar_controller = nullptr;
  std::unique_ptr<controllers::GarbageFeed> feed;
};

ControlPlane::ControlPlane(ControlPlaneParts parts) : members_(std::make_unique<Members>(std::move(parts))) {}
ControlPlane::~ControlPlane() = default;

void ControlPlane::start() {
  auto& m = *members_;
  for (auto& entry : m.running) entry.controller->start();
  m.feed = std::make_unique<controllers::GarbageFeed>(m.garbage, m.catalog, *m.garbage_controller, m.mirror);
  for (const auto& key : m.registrar.keys()) m.registrar_controller->enqueue(key);
}

json::Array ControlPlane::report() const {
  json::Array report;
  for (const auto& entry : members_->running) {
    const auto& status = entry.controller->status();
    auto detail = fmt::format("{} looks, {} actions, {} failed", status.looks, status.actions, status.failed_actions);
    if (!status.last_error.empty()) detail += "; last error: " + status.last_error;
    report.push_back(json::Object{{"name", entry.controller->name()},
                                  {"state", entry.controller->has_synced() ? "running" : "starting"},
                                  {"detail", detail}});
  }
  return report;
}

}  // namespace gangway
