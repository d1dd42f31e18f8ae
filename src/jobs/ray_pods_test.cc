// What Ray's pods look like: their command, environment, labels, and the Service of the head.
#include "jobs/ray_pods.h"

#include <gmock/gmock.h>

#include "jobs/ray_start.h"
#include "jobs/test_ray.h"

namespace gangway::jobs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kUlimit = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; ";

std::string head_command(const std::string& spec) {
  const RayCluster cluster = read_cluster(a_ray_cluster(spec));
  return ray_start_command(cluster, cluster.groups.head);
}

std::string head_with(const std::string& rest) {
  return R"({"headGroupSpec":)" + rest + "}";
}

const json::Value& first_container(const json::Value& pod) {
  return json::array_at(pod, {"spec", "containers"}).front();
}

json::Value head_pod(const RayCluster& cluster) {
  return ray_pod(cluster, cluster.groups.head, 0, ray_pod_name(cluster, cluster.groups.head, 0, 0));
}
json::Value worker_pod(const RayCluster& cluster, std::int64_t slot = 0) {
  const RayGroup& group = cluster.groups.workers.front();
  return ray_pod(cluster, group, slot, ray_pod_name(cluster, group, slot, 0));
}

TEST(RayStart, FlagsAreSortedAndFilledIn) {
  struct Case {
    const char* name;
    std::string spec;
    std::string want;
  };
  const std::string usual =
      "ray start --head --block --dashboard-agent-listen-port=52365 --dashboard-host=0.0.0.0 "
      "--metrics-export-port=8080";
  const Case cases[] = {
      {"nothing said", "{}", usual},
      {"what is said stays",
       head_with(R"({"rayStartParams":{"dashboard-host":"1.2.3.4","block":"false","num-cpus":"0"}})"),
       "ray start --head --dashboard-agent-listen-port=52365 --dashboard-host=1.2.3.4 --metrics-export-port=8080 "
       "--num-cpus=0"},
      {"a flag that needs its value", head_with(R"({"rayStartParams":{"include-dashboard":"true"}})"),
       "ray start --head --block --dashboard-agent-listen-port=52365 --dashboard-host=0.0.0.0 "
       "--include-dashboard=true --metrics-export-port=8080"},
      {"resources", head_with(R"({"template":{"spec":{"containers":[{"name":"h","image":"i","resources":{
         "limits":{"memory":"2Gi","nvidia.com/gpu":"4","cpu":"1500m"},"requests":{"cpu":"1"}}}]}}})"),
       "ray start --head --block --dashboard-agent-listen-port=52365 --dashboard-host=0.0.0.0 --memory=2147483648 "
       "--metrics-export-port=8080 --num-cpus=2 --num-gpus=4"},
      {"cpus that are only requested",
       head_with(R"({"template":{"spec":{"containers":[{"name":"h","image":"i","resources":{
         "requests":{"cpu":"3","memory":"1Gi"}}}]}}})"),
       usual + " --num-cpus=3"},
      {"stated resources go first",
       head_with(R"({"resources":{"CPU":"8","lamp":"1"},"template":{"spec":{"containers":[{"name":"h","image":"i",
         "resources":{"limits":{"cpu":"2"}}}]}}})"),
       usual + R"( --num-cpus=8 --resources='{"lamp":1}')"},
      {"an autoscaler beside it", R"({"enableInTreeAutoscaling":true})", usual + " --no-monitor"},
  };
  for (const Case& each : cases) EXPECT_EQ(head_command(each.spec), kUlimit + each.want) << each.name;
}

TEST(RayStart, WorkersAreToldWhereTheHeadIs) {
  const RayCluster cluster = read_cluster(a_ray_cluster(head_with(R"({"rayStartParams":{"port":"6380"}})")));
  EXPECT_EQ(ray_start_command(cluster, cluster.groups.workers.front()),
            kUlimit + std::string("ray start --address=r-head-svc.default.svc.cluster.local:6380 --block "
                                  "--dashboard-agent-listen-port=52365 --metrics-export-port=8080"));
}

TEST(RayPods, TheHeadHasItsLabelsEnvironmentAndCommand) {
  const RayCluster cluster = read_cluster(a_ray_cluster());
  const json::Value pod = head_pod(cluster);
  EXPECT_THAT(std::string(json::string_at(pod, {"metadata", "name"})), StartsWith("r-head-"));
  const json::Object& labels = json::map_at(pod, {"metadata", "labels"});
  for (const auto& [key, value] : {std::pair{"ray.io/is-ray-node", "yes"},
                                   {"ray.io/cluster", "r"},
                                   {"ray.io/node-type", "head"},
                                   {"ray.io/group", "headgroup"},
                                   {"ray.io/identifier", "r-head"},
                                   {"app.kubernetes.io/name", "kuberay"},
                                   {"app.kubernetes.io/created-by", "kuberay-operator"},
                                   {"scheduling.x-k8s.io/pod-group", "r"},
                                   {"training.kubeflow.org/job-role", "master"}})
    EXPECT_EQ(labels.at(key).as_string(), value) << key;
  const json::Value& ray = first_container(pod);
  EXPECT_EQ(json::serialize(ray.at("command")), R"(["/bin/bash","-c","--"])");
  EXPECT_THAT(std::string(json::array_at(ray, {"args"}).front().as_string()), HasSubstr("ray start --head"));
  const std::string name(json::string_at(pod, {"metadata", "name"}));
  const std::string command = ray_start_command(cluster, cluster.groups.head);
  EXPECT_THAT(
      variables_of(ray),
      ElementsAre("RAY_CLUSTER_NAME=r", "RAY_CLUSTER_NAMESPACE=default", "RAY_CLOUD_INSTANCE_ID=" + name,
                  "RAY_NODE_TYPE_NAME=headgroup", "KUBERAY_GEN_RAY_START_CMD=" + command, "RAY_PORT=6379",
                  "RAY_ADDRESS=127.0.0.1:6379", "RAY_USAGE_STATS_KUBERAY_IN_USE=1",
                  "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE=1",
                  "RAY_USAGE_STATS_EXTRA_TAGS=kuberay_version=gangway;kuberay_crd=RayCluster", "GANGWAY_ATTEMPT=1"));
  EXPECT_EQ(json::string_at(json::array_at(pod, {"spec", "volumes"}).front(), {"emptyDir", "medium"}), "Memory");
  EXPECT_EQ(json::string_at(json::array_at(ray, {"volumeMounts"}).front(), {"mountPath"}), "/dev/shm");
  EXPECT_THAT(json::array_at(pod, {"spec", "initContainers"}), IsEmpty());
}

TEST(RayPods, AWorkerWaitsForTheHeadWithTheSameEnvironment) {
  const RayCluster cluster = read_cluster(a_ray_cluster(
      R"({"workerGroupSpecs":[{"groupName":"Big_One","replicas":1,"template":{"spec":{"containers":[
        {"name":"w","image":"i","env":[{"name":"PATH","value":"/venv/bin"},{"name":"RAY_PORT","value":"1"}]}]}}}]})"));
  const json::Value pod = worker_pod(cluster);
  EXPECT_THAT(std::string(json::string_at(pod, {"metadata", "name"})), StartsWith("r-big-one-worker-"));
  EXPECT_EQ(json::string_at(pod, {"metadata", "labels", "ray.io/group"}), "Big_One");
  EXPECT_EQ(json::string_at(pod, {"metadata", "labels", "ray.io/identifier"}), "r-worker");
  EXPECT_EQ(json::string_at(pod, {"metadata", "labels", "ray.io/worker-group-replica-index"}), "0");
  const auto variables = variables_of(first_container(pod));
  EXPECT_THAT(variables, Contains("RAY_ADDRESS=r-head-svc.default.svc.cluster.local:6379"));
  EXPECT_THAT(variables, Contains("FQ_RAY_IP=r-head-svc.default.svc.cluster.local"));
  EXPECT_THAT(variables, Contains("RAY_IP=r-head-svc"));
  EXPECT_THAT(variables, Contains("RAY_PORT=1")) << "the user's own";
  EXPECT_THAT(variables, Not(Contains("RAY_PORT=6379")));
  const json::Value& wait = json::array_at(pod, {"spec", "initContainers"}).front();
  EXPECT_EQ(json::string_at(wait, {"name"}), "wait-gcs-ready");
  EXPECT_EQ(json::string_at(wait, {"image"}), "i");
  EXPECT_THAT(variables_of(wait), Contains("PATH=/venv/bin"));
  EXPECT_EQ(json::string_at(wait, {"resources", "limits", "cpu"}), "200m");
  EXPECT_EQ(json::string_at(wait, {"resources", "requests", "memory"}), "256Mi");
  EXPECT_THAT(std::string(json::array_at(wait, {"args"}).front().as_string()),
              HasSubstr("ray health-check --address r-head-svc.default.svc.cluster.local:6379"));
}

TEST(RayPods, NoTwoHaveTheSameName) {
  RayCluster cluster = read_cluster(a_ray_cluster());
  const RayGroup& workers = cluster.groups.workers.front();
  const std::string name = ray_pod_name(cluster, workers, 0, 0);
  EXPECT_EQ(ray_pod_name(cluster, workers, 0, 0), name);
  EXPECT_NE(ray_pod_name(cluster, workers, 1, 0), name);
  EXPECT_NE(ray_pod_name(cluster, workers, 0, 1), name) << "the one that takes its place";
  cluster.record.attempt = 2;
  EXPECT_NE(ray_pod_name(cluster, workers, 0, 0), name);
}

TEST(RayPods, ReplicasOfSeveralHostsSayWhichTheyAre) {
  const RayCluster cluster = read_cluster(a_ray_cluster(
      R"({"workerGroupSpecs":[{"groupName":"w","replicas":2,"numOfHosts":2,"template":{"spec":{"containers":[
        {"name":"w","image":"i"}]}}}]})"));
  const json::Value pod = worker_pod(cluster, 3);
  EXPECT_EQ(json::string_at(pod, {"metadata", "labels", "ray.io/worker-group-replica-index"}), "1");
  EXPECT_EQ(json::string_at(pod, {"metadata", "labels", "ray.io/replica-host-index"}), "1");
}

TEST(RayPods, TheUsersOwnCommandComesFirstOrStays) {
  struct Case {
    const char* name;
    const char* command;
    const char* annotation;
    std::string want;
  };
  const std::string start = kUlimit + std::string("ray start --head");
  const Case cases[] = {
      {"before", R"("command":["echo"],"args":["hi"])", "false", "echo hi && " + start},
      {"starts Ray itself", R"("command":["ray start --head"])", "false", ""},
      {"says so", R"("command":["sleep"])", "true", ""},
  };
  for (const Case& each : cases) {
    const RayCluster cluster =
        read_cluster(a_ray_cluster(head_with(R"({"template":{"spec":{"containers":[{"name":"h","image":"i",)" +
                                             std::string(each.command) + "}]}}}"),
                                   R"({"metadata":{"annotations":{"ray.io/overwrite-container-cmd":")" +
                                       std::string(each.annotation) + R"("}}})"));
    const json::Value pod = head_pod(cluster);
    const json::Array& arguments = json::array_at(first_container(pod), {"args"});
    if (each.want.empty()) {
      EXPECT_THAT(arguments, IsEmpty()) << each.name;
    } else {
      EXPECT_THAT(std::string(arguments.front().as_string()), StartsWith(each.want)) << each.name;
    }
  }
}

TEST(RayPods, HealthIsAskedAsTheVersionOfRayAnswersIt) {
  const auto probe = [](const std::string& version, bool is_head) {
    const RayCluster cluster = read_cluster(a_ray_cluster(R"({"rayVersion":")" + version + R"("})"));
    const json::Value pod = is_head ? head_pod(cluster) : worker_pod(cluster);
    return json::serialize(first_container(pod).at("readinessProbe"));
  };
  EXPECT_EQ(probe("2.53.0", true),
            R"({"httpGet":{"path":"/api/healthz","port":52365},"initialDelaySeconds":10,"periodSeconds":5,)"
            R"("timeoutSeconds":5,"failureThreshold":10})");
  for (const char* old : {"2.9.0", "2.52.1", "", "nightly"}) {
    EXPECT_THAT(probe(old, true), HasSubstr("52365/api/local_raylet_healthz")) << old;
    EXPECT_THAT(probe(old, true), HasSubstr("8265/api/gcs_healthz")) << old;
    EXPECT_THAT(probe(old, false), Not(HasSubstr("gcs_healthz"))) << old;
  }
  const RayCluster cluster = read_cluster(a_ray_cluster(R"({"rayVersion":"2.60.0"})"));
  const json::Value pod = worker_pod(cluster);
  EXPECT_THAT(json::serialize(first_container(pod).at("livenessProbe")),
              HasSubstr(R"("initialDelaySeconds":30,"periodSeconds":5,"timeoutSeconds":5,"failureThreshold":120)"));
}

TEST(RayPods, TheHeadsServiceIsHeadlessUnlessItIsToBeAnother) {
  json::Value service = ray_head_service_object(read_cluster(a_ray_cluster()));
  EXPECT_EQ(json::string_at(service, {"metadata", "name"}), "r-head-svc");
  EXPECT_EQ(json::string_at(service, {"spec", "clusterIP"}), "None");
  EXPECT_TRUE(json::flag_at(service, {"spec", "publishNotReadyAddresses"}));
  EXPECT_EQ(json::string_at(service, {"spec", "selector", "ray.io/cluster"}), "r");
  EXPECT_EQ(json::string_at(service, {"spec", "selector", "ray.io/node-type"}), "head");
  std::vector<std::string> ports;
  for (const json::Value& port : json::array_at(service, {"spec", "ports"}))
    ports.push_back(std::string(json::string_at(port, {"name"})) + "=" +
                    std::to_string(json::integer_at(port, {"port"})));
  EXPECT_THAT(ports, ElementsAre("client=10001", "gcs-server=6379", "dashboard=8265", "metrics=8080", "serve=8000"));

  service = ray_head_service_object(read_cluster(a_ray_cluster(
      head_with(R"({"serviceType":"NodePort","template":{"spec":{"containers":[{"name":"h","image":"i","ports":[
        {"name":"dashboard","containerPort":9000}]}]}}})"))));
  EXPECT_EQ(json::string_at(service, {"spec", "type"}), "NodePort");
  EXPECT_EQ(json::find(service, {"spec", "clusterIP"}), nullptr);
  ASSERT_EQ(json::array_at(service, {"spec", "ports"}).size(), 1U);
  EXPECT_EQ(json::integer_at(json::array_at(service, {"spec", "ports"}).front(), {"port"}), 9000);
}

TEST(RayPods, AnAutoscalerStandsBesideTheHead) {
  const RayCluster cluster = read_cluster(
      a_ray_cluster(R"({"enableInTreeAutoscaling":true,"autoscalerOptions":{"version":"v2","image":"scaler"}})"));
  const json::Value pod = head_pod(cluster);
  EXPECT_EQ(json::string_at(pod, {"spec", "serviceAccountName"}), "r");
  EXPECT_EQ(json::string_at(pod, {"spec", "restartPolicy"}), "Never");
  const json::Value& scaler = json::array_at(pod, {"spec", "containers"}).back();
  EXPECT_EQ(json::string_at(scaler, {"name"}), "autoscaler");
  EXPECT_EQ(json::string_at(scaler, {"image"}), "scaler");
  EXPECT_EQ(json::string_at(scaler, {"resources", "limits", "cpu"}), "500m");
  EXPECT_THAT(variables_of(scaler), Contains("KUBERAY_CRD_VER=v1"));
  EXPECT_THAT(variables_of(first_container(pod)), Contains("RAY_enable_autoscaler_v2=1"));
}

TEST(RayGroups, AGangIsTheHeadAndTheWorkersThatItNeeds) {
  struct Case {
    const char* name;
    const char* spec;
    OnPreempt on_preempt;
    std::int64_t minimum;
    std::int64_t maximum;
  };
  const Case cases[] = {
      {"desired", R"({"workerGroupSpecs":[{"groupName":"w","replicas":3,"minReplicas":1}]})", OnPreempt::kFail, 4, 4},
      {"within its limits", R"({"workerGroupSpecs":[{"groupName":"w","replicas":0,"minReplicas":2}]})",
       OnPreempt::kFail, 3, 3},
      {"not above them", R"({"workerGroupSpecs":[{"groupName":"w","replicas":9,"maxReplicas":2}]})", OnPreempt::kFail,
       3, 3},
      {"autoscaled",
       R"({"enableInTreeAutoscaling":true,"workerGroupSpecs":[{"groupName":"w","replicas":3,"minReplicas":1}]})",
       OnPreempt::kFail, 2, 4},
      {"shrinks", R"({"workerGroupSpecs":[{"groupName":"w","replicas":3,"minReplicas":2}]})", OnPreempt::kShrink, 3, 4},
      {"hosts", R"({"workerGroupSpecs":[{"groupName":"w","replicas":2,"numOfHosts":4}]})", OnPreempt::kFail, 9, 9},
      {"a suspended group", R"({"workerGroupSpecs":[{"groupName":"w","replicas":2,"suspend":true}]})", OnPreempt::kFail,
       1, 1},
      {"a head alone", R"({"workerGroupSpecs":[]})", OnPreempt::kFail, 1, 1},
  };
  for (const Case& each : cases) {
    const GangWish wish = RayGroups(a_cluster_spec(each.spec)).gang_wish(each.on_preempt);
    EXPECT_EQ(wish.minimum, each.minimum) << each.name;
    EXPECT_EQ(wish.maximum, each.maximum) << each.name;
  }
}

}  // namespace
}  // namespace gangway::jobs
