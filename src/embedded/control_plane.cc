#include "embedded/control_plane.h"

#include <fmt/format.h>

#include <set>

#include "agent/node/node_registrar.h"
#include "apiserver/direct_client.h"
#include "client/controller.h"
#include "client/leader_lease.h"
#include "client/mirror.h"
#include "controllers/claim_binder.h"
#include "controllers/cluster_role_aggregation.h"
#include "controllers/definition_cleanup.h"
#include "controllers/deployment.h"
#include "controllers/disruption.h"
#include "controllers/endpoint_slices.h"
#include "controllers/endpoints.h"
#include "controllers/event_expiry.h"
#include "controllers/garbage_collector.h"
#include "controllers/job.h"
#include "controllers/namespace_controller.h"
#include "controllers/node_lifecycle.h"
#include "controllers/owned.h"
#include "controllers/pod_gc.h"
#include "controllers/replica_set.h"
#include "controllers/service_account_controller.h"
#include "controllers/stateful_set.h"
#include "controllers/taint_eviction.h"
#include "controllers/ttl_after_finished.h"
#include "jobs/batch_gangs.h"
#include "jobs/kubeflow_controller.h"
#include "jobs/mpi_controller.h"
#include "jobs/pytorch_job.h"
#include "jobs/ray_cluster_controller.h"
#include "jobs/ray_dashboard.h"
#include "jobs/ray_job_controller.h"
#include "jobs/ssh_key_probe.h"
#include "jobs/tf_job.h"
#include "scheduler/suite.h"
#include "sys/log.h"

namespace gangway::embedded {
namespace {

const apiserver::UserInfo kServer{"system:apiserver", "", {"system:masters", "system:authenticated"}, {}};
const apiserver::UserInfo kScheduler{"system:kube-scheduler", "", {"system:authenticated"}, {}};

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

struct Standing {
  sys::Lane lane = sys::Lane::kNormal;
  std::optional<apiserver::UserInfo> user = {};  // none: the account of the controller's name
  bool is_busy = false;                          // see scheduler::busy_controller
};

}  // namespace

struct ControlPlane::Members {
  // One controller with the account it writes as.
  struct Running {
    std::unique_ptr<client::ApiClient> client = {};
    std::unique_ptr<client::ProbeRunner> probes = {};  // of its own
    std::unique_ptr<client::Controller> own = {};      // null: it belongs to the suite
    client::Controller* controller = nullptr;
    bool off = false;
  };

  explicit Members(ControlPlaneParts given)
      : parts(std::move(given)),
        reader(parts.connect({"system:kube-controller-manager", "", {"system:authenticated"}, {}})),
        mirror(*reader, parts.loop),
        catalog(parts.server, parts.store, parts.loop),
        garbage_reader(parts.connect(controller_user("generic-garbage-collector"))),
        namespace_reader(parts.connect(controller_user("namespace-controller"))),
        owner_probe(*garbage_reader, parts.loop),
        content_probe(*namespace_reader, parts.loop, catalog),
        instance_probe(*reader),
        ray_dashboard(parts.loop, parts.fetch),
        ssh_keys(parts.loop, parts.new_ssh_key),
        garbage(catalog),
        accounts(parts.authority_pem),
        claims({parts.volumes}),
        registrar(parts.nodes),
        api_endpoints(parts.api_service, parts.api_address),
        suite(suite_parts()),
        lease_writer(parts.connect(kServer)),
        scheduler_lease(
            *lease_writer, parts.loop,
            {.lease = {"kube-system", scheduler::kLeaseName}, .identity = "gangway", .is_sole = true},
            // Its grants say in which term they were made: every start of the server is one.
            [this] { suite.schedule(scheduler_lease); }, [] {}) {
    add("generic-garbage-collector", garbage, &owner_probe);
    garbage_controller = running.back().controller;
    add("namespace-controller", namespaces, &content_probe);
    add("service-account-controller", accounts);
    add("clusterrole-aggregation-controller", aggregation);
    add("disruption-controller", disruption);
    add_workload("deployment-controller", deployments);
    add_workload("replicaset-controller", replica_sets);
    add_workload("statefulset-controller", stateful_sets);
    add_workload("job-controller", batch_jobs);
    add("ttl-after-finished-controller", finished_jobs);
    add("job-gang-controller", batch_gangs);
    add_training("pytorchjob-controller", pytorch_jobs);
    add_training("tfjob-controller", tf_jobs);
    add_training("mpijob-controller", mpi_jobs, &ssh_keys);
    add_training("raycluster-controller", ray_clusters);
    add_training("rayjob-controller", ray_jobs, &ray_dashboard);
    add("endpoint-controller", endpoints, nullptr, {.is_busy = true});
    add("endpointslice-controller", slices, nullptr, {.is_busy = true});
    add("pod-garbage-collector", pod_gc);
    add("persistent-volume-binder", claims);
    add("definition-cleanup", cleanup, &instance_probe, {.user = kServer});
    // Other servers leave this to their store, so no account has the right to it.
    add("event-expiry", events, nullptr, {.user = kServer});
    add("api-endpoints", api_endpoints, nullptr, {.user = kServer});
    // Nodes that live in this process are the process's own: it writes them with its own rights.
    add("node-registrar", registrar, nullptr, {.lane = sys::Lane::kSystem, .user = kServer});
    add("node-controller", lifecycle, nullptr, {.lane = sys::Lane::kSystem});
    add("taint-eviction-controller", evictions, nullptr, {.user = controller_user("node-controller")});
    for (auto* controller : {&suite.scheduling(), &suite.requeueing(), &suite.accounting()})
      running.push_back({.controller = controller});
  }

  scheduler::SuiteParts suite_parts() {
    return {.loop = parts.loop,
            .mirror = mirror,
            .connect =
                [this](const std::string& name) {
                  return parts.connect(name == scheduler::Scheduler::kDefaultName ? kScheduler : controller_user(name));
                },
            .cycles = parts.cycles};
  }

  void add(const std::string& name, const client::Reconciler& reconciler, client::ProbeRunner* probes = nullptr,
           const Standing& standing = {}) {
    Running entry;
    entry.client = parts.connect(standing.user.value_or(controller_user(name)));
    client::ControllerOptions options;
    if (standing.is_busy) options = scheduler::busy_controller(name);
    options.name = name;
    options.lane = standing.lane;
    keep(std::move(entry), reconciler, std::move(options), probes);
  }

  // What makes pods reads its own object live before it adopts any. It makes many in steps that grow, and only one that
  // never comes to rest should be slowed down.
  void add_workload(const std::string& name, const client::Reconciler& reconciler) {
    Running entry;
    entry.client = parts.connect(controller_user(name));
    entry.probes = std::make_unique<controllers::LiveOwner>(*entry.client);
    client::ControllerOptions options;
    options.name = name;
    options.restless_looks = 64;
    auto* probes = entry.probes.get();
    keep(std::move(entry), reconciler, std::move(options), probes);
  }

  void keep(Running entry, const client::Reconciler& reconciler, client::ControllerOptions options,
            client::ProbeRunner* probes) {
    entry.own =
        std::make_unique<client::Controller>(*entry.client, parts.loop, mirror, reconciler, std::move(options), probes);
    entry.controller = entry.own.get();
    running.push_back(std::move(entry));
  }

  // A job makes its pods at once, and looks at them again at each of their steps.
  void add_training(const std::string& name, const client::Reconciler& reconciler,
                    client::ProbeRunner* probes = nullptr) {
    Running entry;
    entry.client = parts.connect(controller_user(name));
    client::ControllerOptions options;
    options.name = name;
    options.restless_looks = 64;
    keep(std::move(entry), reconciler, std::move(options), probes);
  }

  ControlPlaneParts parts;
  std::unique_ptr<client::ApiClient> reader;
  client::Mirror mirror;
  RegistryCatalog catalog;
  // What a controller asks the server beside its watches, it asks as itself.
  std::unique_ptr<client::ApiClient> garbage_reader;
  std::unique_ptr<client::ApiClient> namespace_reader;
  controllers::OwnerProbe owner_probe;
  controllers::ContentProbe content_probe;
  controllers::InstanceProbe instance_probe;
  jobs::RayDashboard ray_dashboard;
  jobs::SshKeyProbe ssh_keys;
  controllers::GarbageCollector garbage;
  controllers::NamespaceController namespaces;
  controllers::ServiceAccountController accounts;
  controllers::ClusterRoleAggregation aggregation;
  controllers::DisruptionController disruption;
  controllers::DeploymentController deployments;
  controllers::ReplicaSetController replica_sets;
  controllers::StatefulSetController stateful_sets;
  controllers::JobController batch_jobs;
  controllers::TtlAfterFinished finished_jobs;
  jobs::BatchGangs batch_gangs;
  jobs::KubeflowController pytorch_jobs{jobs::pytorch_rules()};
  jobs::KubeflowController tf_jobs{jobs::tf_rules()};
  jobs::MpiController mpi_jobs;
  jobs::RayClusterController ray_clusters;
  jobs::RayJobController ray_jobs;
  controllers::EndpointsController endpoints;
  controllers::EndpointSliceController slices;
  controllers::PodGc pod_gc;
  controllers::ClaimBinder claims;
  controllers::DefinitionCleanup cleanup;
  controllers::EventExpiry events;
  agent::NodeRegistrar registrar;
  controllers::ApiEndpoints api_endpoints;
  controllers::NodeLifecycle lifecycle;
  controllers::TaintEviction evictions;
  scheduler::Suite suite;
  std::unique_ptr<client::ApiClient> lease_writer;
  client::LeaderLease scheduler_lease;
  std::vector<Running> running;
  client::Controller* garbage_controller = nullptr;
  std::unique_ptr<controllers::GarbageFeed> feed;
};

Connect connect_directly(apiserver::ApiServer& server, store::Store& store, sys::EventLoop& loop) {
  return [&server, &store, &loop](apiserver::UserInfo user) {
    return std::make_unique<apiserver::DirectClient>(server, store, loop, std::move(user));
  };
}

ControlPlane::ControlPlane(ControlPlaneParts parts) : members_(std::make_unique<Members>(std::move(parts))) {}
ControlPlane::~ControlPlane() = default;

void ControlPlane::start() {
  auto& m = *members_;
  for (auto& entry : m.running) {
    entry.off = m.parts.without.erase(entry.controller->name()) > 0;
    if (entry.off) continue;
    if (entry.controller == &m.suite.scheduling()) {
      m.scheduler_lease.start();
    } else {
      entry.controller->start();
    }
  }
  for (const auto& name : m.parts.without) sys::log_warning("no controller is called " + name);
  m.feed = std::make_unique<controllers::GarbageFeed>(m.garbage, m.catalog, *m.garbage_controller, m.mirror);
}

json::Array ControlPlane::report() const {
  json::Array report;
  for (const auto& entry : members_->running) {
    const auto& status = entry.controller->status();
    auto detail = fmt::format("{} looks, {} actions, {} failed", status.looks, status.actions, status.failed_actions);
    if (!status.last_error.empty()) detail += "; last error: " + status.last_error;
    const char* state = entry.off ? "off" : entry.controller->has_synced() ? "running" : "starting";
    report.push_back(json::Object{{"name", entry.controller->name()}, {"state", state}, {"detail", detail}});
  }
  return report;
}

}  // namespace gangway::embedded
