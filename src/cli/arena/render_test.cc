#include "cli/arena/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::cli::arena {
namespace {

using ::testing::HasSubstr;

SubmitFlags a_job(JobType type) {
  SubmitFlags flags;
  flags.type = type;
  flags.name = "demo";
  flags.image = "image:1";
  flags.gpus = 1;
  flags.command = {"mpirun", "tail", "/dev/null"};
  return flags;
}

Rendered rendered(const SubmitFlags& flags) {
  SubmitFacts facts;
  facts.priority_classes = {"medium"};
  facts.serves_queues = true;
  facts.queues = {"team"};
  facts.read_file = [](const std::string&) -> Result<std::string> { return std::string("x"); };
  const auto made = check_submission(flags, facts);
  EXPECT_TRUE(made) << (made ? "" : made.error().causes[0].field + made.error().causes[0].message);
  return render(*made);
}

const json::Value& at(const json::Value& root, std::string_view path) {
  static const json::Value nothing;
  const json::Value* value = &root;
  while (!path.empty() && value != nullptr) {
    const std::size_t slash = path.find('/');
    const std::string_view step = path.substr(0, slash);
    path = slash == std::string_view::npos ? "" : path.substr(slash + 1);
    if (const json::Array* array = value->if_array()) {
      const std::size_t index = std::stoul(std::string(step));
      value = index < array->size() ? &(*array)[index] : nullptr;
    } else {
      value = value->is_object() ? value->get_object().if_contains(step) : nullptr;
    }
  }
  return value == nullptr ? nothing : *value;
}

std::string text_at(const json::Value& root, std::string_view path) {
  return json::serialize(at(root, path));
}

TEST(RenderMpi, IsTheOldMpiJobWithOneTemplate) {
  SubmitFlags flags = a_job(JobType::kMpi);
  flags.priority = "medium";
  flags.workers = 2;
  flags.retry = 3;
  const json::Value job = rendered(flags).job;
  EXPECT_EQ(text_at(job, "apiVersion"), "\"kubeflow.org/v1alpha1\"");
  EXPECT_EQ(text_at(job, "kind"), "\"MPIJob\"");
  EXPECT_EQ(text_at(job, "spec/replicas"), "2");
  EXPECT_EQ(text_at(job, "spec/backoffLimit"), "3");
  EXPECT_EQ(text_at(job, "spec/cleanPodPolicy"), "\"All\"");
  EXPECT_EQ(text_at(job, "metadata/labels"),
            R"({"app":"mpijob","chart":"mpijob-0.1.0","release":"demo","heritage":"Helm","createdBy":"MPIJob"})");
  const json::Value& spec = at(job, "spec/template/spec");
  EXPECT_EQ(text_at(spec, "restartPolicy"), "\"Never\"");
  EXPECT_EQ(text_at(spec, "priorityClassName"), "\"medium\"");
  EXPECT_EQ(text_at(spec, "containers/0/name"), "\"mpi\"");
  EXPECT_EQ(text_at(spec, "containers/0/command"), R"(["sh","-c","mpirun tail /dev/null"])");
  EXPECT_EQ(text_at(spec, "containers/0/resources"),
            R"({"requests":{"nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"1"}})");
  EXPECT_EQ(text_at(spec, "volumes/0"), R"({"name":"dshm","emptyDir":{"medium":"Memory","sizeLimit":"2Gi"}})");
  EXPECT_EQ(text_at(job, "spec/template/metadata/annotations/requestGPUsOfJobOwner"), "\"2\"");
}

TEST(RenderPytorch, WorkersCountTheMasterAndRetryDecidesHowTheyRestart) {
  SubmitFlags flags = a_job(JobType::kPytorch);
  flags.workers = 3;
  json::Value job = rendered(flags).job;
  EXPECT_EQ(text_at(job, "spec/pytorchReplicaSpecs/Master/replicas"), "1");
  EXPECT_EQ(text_at(job, "spec/pytorchReplicaSpecs/Worker/replicas"), "2");
  EXPECT_EQ(text_at(job, "spec/pytorchReplicaSpecs/Master/restartPolicy"), "\"Never\"");
  EXPECT_EQ(text_at(job, "spec/pytorchReplicaSpecs/Worker/restartPolicy"), "\"Never\"");
  EXPECT_EQ(text_at(job, "spec/runPolicy"), R"({"cleanPodPolicy":"Running","backoffLimit":0})");
  flags.retry = 2;
  flags.running_timeout = "1h";
  flags.ttl_after_finished = "90s";
  job = rendered(flags).job;
  EXPECT_EQ(text_at(job, "spec/pytorchReplicaSpecs/Worker/restartPolicy"), "\"OnFailure\"");
  EXPECT_EQ(
      text_at(job, "spec/runPolicy"),
      R"({"cleanPodPolicy":"Running","activeDeadlineSeconds":3600,"ttlSecondsAfterFinished":90,"backoffLimit":2})");
  flags.workers = 1;
  EXPECT_TRUE(at(rendered(flags).job, "spec/pytorchReplicaSpecs/Worker").is_null());
}

TEST(RenderPytorch, AMinimumMakesItElastic) {
  SubmitFlags flags = a_job(JobType::kPytorch);
  flags.workers = 3;
  flags.min_workers = 2;
  flags.on_preempt = "shrink";
  const json::Value job = rendered(flags).job;
  EXPECT_TRUE(at(job, "spec/pytorchReplicaSpecs/Master").is_null());
  EXPECT_EQ(text_at(job, "spec/pytorchReplicaSpecs/Worker/replicas"), "3");
  EXPECT_EQ(text_at(job, "spec/elasticPolicy/minReplicas"), "2");
  EXPECT_EQ(text_at(job, "spec/elasticPolicy/maxReplicas"), "3");
  EXPECT_EQ(text_at(job, "metadata/annotations"),
            R"({"gangway.dev/on-preempt":"Shrink","gangway.dev/min-workers":"2","gangway.dev/max-workers":"3"})");
}

TEST(RenderTf, OneWorkerAloneIsAChief) {
  const json::Value job = rendered(a_job(JobType::kTf)).job;
  EXPECT_EQ(text_at(job, "spec/tfReplicaSpecs/Chief/replicas"), "1");
  EXPECT_TRUE(at(job, "spec/tfReplicaSpecs/Worker").is_null());
  EXPECT_EQ(at(job, "metadata/annotations").as_object().at("arena.kubeflow.org/disable-tf-config").as_string(), "true");
}

TEST(RenderTf, EveryRoleHasItsOwnFlags) {
  SubmitFlags flags = a_job(JobType::kTf);
  flags.workers = 2;
  flags.tf.ps = 1;
  flags.tf.chief = true;
  flags.tf.ps_role.cpu = "2";
  flags.tf.ps_role.cpu_limit = "4";
  flags.tf.worker.affinity_policy = "spread";
  flags.selector = {"zone=a"};
  flags.tf.ps_role.selector = {"zone=b"};
  const json::Value job = rendered(flags).job;
  EXPECT_EQ(text_at(job, "spec/tfReplicaSpecs/Worker/restartPolicy"), "\"OnFailure\"");
  EXPECT_EQ(text_at(job, "spec/tfReplicaSpecs/PS/template/spec/containers/0/resources"),
            R"({"requests":{"cpu":"2"},"limits":{"cpu":"4"}})");
  EXPECT_EQ(text_at(job, "spec/tfReplicaSpecs/PS/template/spec/nodeSelector"), R"({"zone":"b"})");
  EXPECT_EQ(text_at(job, "spec/tfReplicaSpecs/Chief/template/spec/nodeSelector"), R"({"zone":"a"})");
  EXPECT_FALSE(at(job, "spec/tfReplicaSpecs/Worker/template/spec/affinity/podAntiAffinity").is_null());
}

TEST(RenderEt, IsANewMpiJobWithItsLimitsInAnnotations) {
  SubmitFlags flags = a_job(JobType::kEt);
  flags.workers = 2;
  flags.min_workers = 1;
  flags.max_workers = 4;
  const json::Value job = rendered(flags).job;
  EXPECT_EQ(text_at(job, "apiVersion"), "\"kubeflow.org/v2beta1\"");
  EXPECT_EQ(text_at(job, "spec/mpiReplicaSpecs/Worker/replicas"), "2");
  EXPECT_EQ(text_at(job, "spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/command"),
            R"(["sh","-c","mpirun tail /dev/null"])");
  EXPECT_TRUE(at(job, "spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/resources").is_null());
  EXPECT_EQ(text_at(job, "metadata/annotations"), R"({"gangway.dev/min-workers":"1","gangway.dev/max-workers":"4"})");
  EXPECT_THAT(text_at(job, "spec/mpiReplicaSpecs/Worker/template/spec/containers/0/env"),
              HasSubstr(R"({"name":"maxWorkers","value":"4"})"));
}

TEST(RenderRay, WorkersHaveTheGpusAndTheHeadNone) {
  SubmitFlags flags = a_job(JobType::kRay);
  flags.ray.replicas = 2;
  const json::Value job = rendered(flags).job;
  EXPECT_EQ(text_at(job, "spec/entrypoint"), "\"mpirun tail /dev/null\"");
  EXPECT_EQ(text_at(job, "spec/shutdownAfterJobFinishes"), "true");
  EXPECT_EQ(text_at(job, "spec/ttlSecondsAfterFinished"), "10");
  EXPECT_EQ(text_at(job, "spec/rayClusterSpec/workerGroupSpecs/0/minReplicas"), "2");
  EXPECT_THAT(text_at(job, "spec/rayClusterSpec/workerGroupSpecs/0/template/spec/containers/0/resources"),
              HasSubstr("nvidia.com/gpu"));
  EXPECT_TRUE(at(job, "spec/rayClusterSpec/headGroupSpec/template/spec/containers/0/resources").is_null());
  EXPECT_TRUE(at(job, "spec/rayClusterSpec/headGroupSpec/template/spec/containers/0/command").is_null());
}

TEST(RenderPods, DataCodeAndDevicesAreMounted) {
  SubmitFlags flags = a_job(JobType::kPytorch);
  flags.data = {"claim:/data"};
  flags.data_dir = {"/host:/there"};
  flags.config_file = {"/a.conf:/etc/train/a.conf", "/b.conf:/etc/train/b.conf"};
  flags.sync_mode = "git";
  flags.sync_source = "https://git.example.com/team/mnist.git";
  flags.device = {"amd.com/gpu=1"};
  flags.rdma = true;
  flags.env = {"A=b=c"};
  const Rendered all = rendered(flags);
  const json::Value& spec = at(all.job, "spec/pytorchReplicaSpecs/Master/template/spec");
  std::string paths;
  for (const json::Value& mount : at(spec, "containers/0/volumeMounts").as_array())
    paths += std::string(mount.at("mountPath").as_string()) + " ";
  EXPECT_EQ(paths, "/dev/shm /data /there /etc/train /root/code ");
  EXPECT_EQ(text_at(spec, "volumes/1"), R"({"name":"claim","persistentVolumeClaim":{"claimName":"claim"}})");
  EXPECT_EQ(text_at(spec, "volumes/2/hostPath/path"), "\"/host\"");
  EXPECT_EQ(text_at(spec, "initContainers/0/name"), "\"init-code\"");
  EXPECT_THAT(text_at(spec, "initContainers/0/env"), HasSubstr(R"({"name":"GIT_SYNC_DEST","value":"mnist"})"));
  EXPECT_THAT(text_at(spec, "containers/0/env"), HasSubstr(R"({"name":"A","value":"b=c"})"));
  EXPECT_THAT(text_at(spec, "containers/0/resources"), HasSubstr(R"("amd.com/gpu":"1","rdma/hca":"1")"));
  EXPECT_THAT(text_at(spec, "containers/0/securityContext"), HasSubstr("IPC_LOCK"));
  ASSERT_EQ(all.helpers.size(), 1u) << "one ConfigMap a folder";
  EXPECT_EQ(text_at(all.helpers[0], "data"), R"({"a.conf":"x","b.conf":"x"})");
}

TEST(RenderPods, GangsQueuesAndPlacesAreSaid) {
  SubmitFlags flags = a_job(JobType::kMpi);
  flags.workers = 4;
  flags.gang = true;
  flags.queue = "team";
  flags.toleration = {"all"};
  flags.scheduler = "other";
  flags.host_network = true;
  flags.image_pull_secret = {"secret"};
  flags.checkpoint_dir = "/data/ckpt";
  flags.min_runtime = "10m";
  const json::Value job = rendered(flags).job;
  const json::Object& labels = at(job, "spec/template/metadata/labels").as_object();
  EXPECT_EQ(labels.at("pod-group.scheduling.sigs.k8s.io/name").as_string(), "mpijob-demo");
  EXPECT_EQ(labels.at("pod-group.scheduling.sigs.k8s.io/min-available").as_string(), "4");
  EXPECT_EQ(at(job, "metadata/labels").as_object().at("kueue.x-k8s.io/queue-name").as_string(), "team");
  EXPECT_EQ(text_at(job, "metadata/annotations"),
            R"({"gangway.dev/min-runtime":"10m","gangway.dev/checkpoint-dir":"/data/ckpt","gangway.dev/gang":"true"})");
  const json::Value& spec = at(job, "spec/template/spec");
  EXPECT_EQ(text_at(spec, "tolerations"), R"([{"operator":"Exists"}])");
  EXPECT_EQ(text_at(spec, "schedulerName"), "\"other\"");
  EXPECT_EQ(text_at(spec, "dnsPolicy"), "\"ClusterFirstWithHostNet\"");
  EXPECT_EQ(text_at(spec, "imagePullSecrets"), R"([{"name":"secret"}])");
}

TEST(RenderTensorboard, IsADeploymentAndAServiceThatSeeTheLogs) {
  SubmitFlags flags = a_job(JobType::kMpi);
  flags.tensorboard = true;
  flags.priority = "medium";
  flags.data = {"claim:/data"};
  flags.logdir = "/data/logs";
  Rendered all = rendered(flags);
  ASSERT_EQ(all.helpers.size(), 2u);
  EXPECT_EQ(text_at(all.helpers[0], "kind"), "\"Service\"");
  EXPECT_EQ(text_at(all.helpers[0], "spec/type"), "\"NodePort\"");
  const json::Value& pod = at(all.helpers[1], "spec/template/spec");
  EXPECT_EQ(text_at(pod, "volumes/0/name"), "\"claim\"");
  EXPECT_TRUE(at(pod, "priorityClassName").is_null());
  EXPECT_THAT(text_at(pod, "containers/0/command"), HasSubstr("/data/logs"));
  flags.logdir = "/training_logs";
  all = rendered(flags);
  EXPECT_EQ(text_at(all.helpers[1], "spec/template/spec/volumes/0/hostPath/path"), "\"/arena_logs/default-demo\"");
  EXPECT_EQ(text_at(all.job, "spec/template/spec/volumes/2/name"), "\"training-logs\"");
}

TEST(RenderRecord, SaysWhatBelongsToTheJob) {
  SubmitFlags flags = a_job(JobType::kMpi);
  flags.tensorboard = true;
  const json::Value record = rendered(flags).record;
  EXPECT_EQ(text_at(record, "metadata/name"), "\"demo-mpijob\"");
  EXPECT_EQ(text_at(record, "metadata/labels"), R"({"createdBy":"arena"})");
  EXPECT_EQ(at(record, "data").as_object().at("app").as_string(),
            "service/demo-tensorboard\ndeployment.apps/demo-tensorboard\nmpijob.kubeflow.org/demo\n");
  EXPECT_THAT(std::string(at(record, "data").as_object().at("values").as_string()), HasSubstr("gpuCount: 1"));
}

}  // namespace
}  // namespace gangway::cli::arena
