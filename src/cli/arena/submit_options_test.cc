// Every flag of `arena submit`, from the word that is typed to the field of the manifest where it lands.
#include "cli/arena/submit_options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <set>

#include "cli/arena/arguments.h"
#include "cli/arena/render.h"

namespace gangway::cli::arena {
namespace {

SubmitFacts facts() {
  SubmitFacts known;
  known.priority_classes = {"medium"};
  known.serves_queues = true;
  known.queues = {"default", "team"};
  known.read_file = [](const std::string&) -> Result<std::string> { return std::string("lr=1"); };
  return known;
}

// What a command line makes, or what is wrong with it.
Result<Rendered> submitted(JobType type, std::vector<std::string> words) {
  SubmitFlags flags;
  flags.type = type;
  CLI::App app;
  add_submit_flags(app, flags);
  for (const char* usual : {"--name=demo", "--image=image:1"}) words.insert(words.begin(), usual);
  if (type == JobType::kRay) words.insert(words.begin(), "--worker-replicas=2");
  words.emplace_back("python");
  words.emplace_back("train.py");
  std::vector<std::string> todays = todays_arguments(words).words;
  std::reverse(todays.begin(), todays.end());
  try {
    app.parse(std::move(todays));
  } catch (const CLI::ParseError& problem) {
    return bad_request(problem.what());
  }
  GW_TRY(const Submission made, check_submission(flags, facts()));
  return render(made);
}

// A place in a document: steps with | between them, for the keys of labels have slashes. A step [NAME] is the item of a
// list that is called so.
const json::Value* find_place(const json::Value& root, std::string_view place) {
  const json::Value* value = &root;
  while (!place.empty() && value != nullptr) {
    const std::size_t end = place.find('|');
    const std::string_view step = place.substr(0, end);
    place = end == std::string_view::npos ? "" : place.substr(end + 1);
    const json::Value* next = nullptr;
    if (const json::Array* array = value->if_array()) {
      for (std::size_t i = 0; i < array->size(); ++i)
        if (step == std::to_string(i) || step == fmt::format("[{}]", json::string_at((*array)[i], {"name"})))
          next = &(*array)[i];
    } else if (const json::Object* object = value->if_object()) {
      next = object->if_contains(step);
    }
    value = next;
  }
  return value;
}

std::string text_at(const json::Value& root, std::string_view place) {
  const json::Value* value = find_place(root, place);
  return value == nullptr ? "nothing" : json::serialize(*value);
}

// The template of the pods that train, and its container.
std::string template_of(JobType type) {
  switch (type) {
    case JobType::kPytorch:
      return "spec|pytorchReplicaSpecs|Master|template";
    case JobType::kTf:
      return "spec|tfReplicaSpecs|Chief|template";
    case JobType::kEt:
      return "spec|mpiReplicaSpecs|Worker|template";
    case JobType::kRay:
      return "spec|rayClusterSpec|workerGroupSpecs|0|template";
    default:
      return "spec|template";
  }
}

std::string place_of(JobType type, std::string place) {
  const std::string pod = template_of(type);
  for (const auto& [word, meaning] :
       {std::pair{std::string("MAIN"), pod + "|spec|containers|0"}, std::pair{std::string("POD"), pod}})
    if (place.starts_with(word)) return meaning + place.substr(word.size());
  return place;
}

struct Case {
  std::vector<std::string> words;  // the first is the flag that it is about
  std::string place;               // in the job; "record|…": in its record, "helper N|…": in what is made beside it
  std::string want;                // as JSON
};

void check(JobType type, const Case& each) {
  const std::string about = fmt::format("{} {}", info_of(type).name, each.words.front());
  const auto made = submitted(type, each.words);
  ASSERT_TRUE(made) << about << ": " << made.error().message
                    << (made.error().causes.empty() ? ""
                                                    : made.error().causes[0].field + made.error().causes[0].message);
  const std::string place = place_of(type, each.place);
  if (place.starts_with("record|")) {
    EXPECT_NE(text_at(made->record, place.substr(7)).find(each.want), std::string::npos) << about;
  } else if (place.starts_with("helper ")) {
    const std::size_t index = static_cast<std::size_t>(place[7] - '0');
    ASSERT_LT(index, made->helpers.size()) << about;
    EXPECT_EQ(text_at(made->helpers[index], place.substr(9)), each.want) << about;
  } else {
    EXPECT_EQ(text_at(made->job, place), each.want) << about << " at " << place;
  }
}

std::vector<Case> common() {
  return {
      {{"--name=other"}, "metadata|name", R"("other")"},
      {{"--image=other:2"}, "MAIN|image", R"("other:2")"},
      {{"--gpus=3"}, "MAIN|resources|limits|nvidia.com/gpu", R"("3")"},
      {{"--gpus=3"}, "MAIN|env|[gpus]|value", R"("3")"},
      {{"--device=amd.com/gpu=2"},
       "MAIN|resources",
       R"({"requests":{"amd.com/gpu":"2"},"limits":{"amd.com/gpu":"2"}})"},
      {{"--working-dir=/work"}, "MAIN|workingDir", R"("/work")"},
      {{"--workingDir", "/work"}, "MAIN|workingDir", R"("/work")"},
      {{"--env=A=b=c", "-e", "D="}, "MAIN|env|[A]|value", R"("b=c")"},
      {{"-e", "D=1,2"}, "MAIN|env|[D]|value", R"("1,2")"},
      {{"--data=claim:/data"}, "POD|spec|volumes|[claim]|persistentVolumeClaim|claimName", R"("claim")"},
      {{"-d", "claim:/data"}, "MAIN|volumeMounts|[claim]|mountPath", R"("/data")"},
      {{"--data-dir=/host:/there"}, "POD|spec|volumes|[training-data-0]|hostPath|path", R"("/host")"},
      {{"--dataDir=/host"}, "MAIN|volumeMounts|[training-data-0]|mountPath", R"("/host")"},
      {{"--annotation=team.io/a=b"}, "metadata|annotations|team.io/a", R"("b")"},
      {{"-a", "team.io/a=b"}, "POD|metadata|annotations|team.io/a", R"("b")"},
      {{"--label=team.io/a=b"}, "metadata|labels|team.io/a", R"("b")"},
      {{"-l", "team.io/a=b"}, "POD|metadata|labels|team.io/a", R"("b")"},
      {{"--rdma"}, "MAIN|resources|limits|rdma/hca", R"("1")"},
      {{"--rdma=true"}, "MAIN|securityContext|capabilities|add", R"(["IPC_LOCK"])"},
      {{"--gang"}, "metadata|annotations|gangway.dev/gang", R"("true")"},
      {{"--priority=medium"}, "POD|spec|priorityClassName", R"("medium")"},
      {{"-p", "medium"}, "POD|spec|priorityClassName", R"("medium")"},
      {{"--queue"}, "metadata|labels|kueue.x-k8s.io/queue-name", R"("default")"},
      {{"--queue=team"}, "metadata|labels|kueue.x-k8s.io/queue-name", R"("team")"},
      {{"--toleration=all"}, "POD|spec|tolerations", R"([{"operator":"Exists"}])"},
      {{"--toleration=a=b:NoSchedule,Equal"},
       "POD|spec|tolerations|0",
       R"({"key":"a","operator":"Equal","value":"b","effect":"NoSchedule"})"},
      {{"--selector=zone=a"}, "POD|spec|nodeSelector", R"({"zone":"a"})"},
      {{"--config-file=/a.conf:/etc/train/a.conf"}, "helper 0|data", R"({"a.conf":"lr=1"})"},
      {{"--image-pull-secret=s", "--image-pull-secret=t"},
       "POD|spec|imagePullSecrets",
       R"([{"name":"s"},{"name":"t"}])"},
      {{"--image-pull-policy=Never"}, "MAIN|imagePullPolicy", R"("Never")"},
      {{"--scheduler=other"}, "POD|spec|schedulerName", R"("other")"},
      {{"--hostNetwork"}, "POD|spec|hostNetwork", "true"},
      {{"--hostNetwork"}, "POD|spec|dnsPolicy", R"("ClusterFirstWithHostNet")"},
      {{"--hostIPC"}, "POD|spec|hostIPC", "true"},
      {{"--hostPID"}, "POD|spec|hostPID", "true"},
      {{"--model-name=m", "--model-source=s"}, "record|data|values", "modelName: m"},
      {{"--model-source=s3"}, "record|data|values", "modelSource: s3"},
      {{"--sync-mode=git", "--sync-source=https://g/mnist.git"},
       "POD|spec|initContainers|[init-code]|env|[GIT_SYNC_REPO]|value",
       R"("https://g/mnist.git")"},
      {{"--syncMode=rsync", "--syncSource=h::code"},
       "POD|spec|initContainers|0|command",
       R"(["rsync","-avP","h::code","/code"])"},
      {{"--sync-source=h::code", "--sync-mode=rsync", "--working-dir=/w"},
       "MAIN|volumeMounts|[code-sync]|mountPath",
       R"("/w/code")"},
      {{"--sync-image=git:1", "--sync-mode=git", "--sync-source=r"}, "POD|spec|initContainers|0|image", R"("git:1")"},
      {{"--tensorboard"}, "helper 0|kind", R"("Service")"},
      {{"--tensorboard"}, "helper 1|kind", R"("Deployment")"},
      {{"--tensorboard-image=tb:1", "--tensorboard"}, "helper 1|spec|template|spec|containers|0|image", R"("tb:1")"},
      {{"--logdir=/logs", "--tensorboard"}, "MAIN|volumeMounts|[training-logs]|mountPath", R"("/logs")"},
      {{"--on-preempt=requeue"}, "metadata|annotations|gangway.dev/on-preempt", R"("Requeue")"},
      {{"--checkpoint-dir=/ckpt"}, "metadata|annotations|gangway.dev/checkpoint-dir", R"("/ckpt")"},
      {{"--min-runtime=10m"}, "metadata|annotations|gangway.dev/min-runtime", R"("10m")"},
      {{"--expected-duration=2h"}, "metadata|annotations|gangway.dev/expected-duration", R"("2h")"},
  };
}

std::vector<Case> mpi() {
  return {
      {{"--workers=3"}, "spec|replicas", "3"},
      {{"--retry=2"}, "spec|backoffLimit", "2"},
      {{"--shell=bash"}, "MAIN|command", R"(["bash","-c","python train.py"])"},
      {{"--cpu=2"}, "MAIN|resources", R"({"requests":{"cpu":"2"},"limits":{"cpu":"2"}})"},
      {{"--memory=4Gi"}, "MAIN|resources|limits|memory", R"("4Gi")"},
      {{"--gputopology", "--gpus=2"}, "MAIN|resources|limits|aliyun.com/gpu", R"("2")"},
      {{"--gputopology", "--gpus=2"}, "POD|spec|hostNetwork", "true"},
      {{"--mounts-on-launcher"}, "spec|mountsOnLauncher", "true"},
      {{"--clean-task-policy=Running"}, "spec|cleanPodPolicy", R"("Running")"},
      {{"--share-memory=8Gi"}, "POD|spec|volumes|[dshm]|emptyDir|sizeLimit", R"("8Gi")"},
      {{"--min-workers=1", "--workers=3"}, "metadata|annotations|gangway.dev/min-workers", R"("1")"},
  };
}

std::vector<Case> horovod() {
  std::vector<Case> cases = mpi();
  cases.push_back({{"--ssh-port=2222"}, "record|data|values", "sshPort: 2222"});
  return cases;
}

std::vector<Case> pytorch() {
  return {
      {{"--workers=3"}, "spec|pytorchReplicaSpecs|Worker|replicas", "2"},
      {{"--retry=2"}, "spec|runPolicy|backoffLimit", "2"},
      {{"--retry=2", "--workers=2"}, "spec|pytorchReplicaSpecs|Worker|restartPolicy", R"("OnFailure")"},
      {{"--workers=2"}, "spec|pytorchReplicaSpecs|Worker|restartPolicy", R"("Never")"},
      {{"--shell=bash"}, "MAIN|command|0", R"("bash")"},
      {{"--cpu=500m"}, "MAIN|resources|requests|cpu", R"("500m")"},
      {{"--memory=4Gi"}, "MAIN|resources|requests|memory", R"("4Gi")"},
      {{"--clean-task-policy=All"}, "spec|runPolicy|cleanPodPolicy", R"("All")"},
      {{"--cleanTaskPolicy=None"}, "spec|runPolicy|cleanPodPolicy", R"("None")"},
      {{"--running-timeout=1h30m"}, "spec|runPolicy|activeDeadlineSeconds", "5400"},
      {{"--ttl-after-finished=90s"}, "spec|runPolicy|ttlSecondsAfterFinished", "90"},
      {{"--share-memory=8Gi"}, "POD|spec|volumes|[dshm]|emptyDir|sizeLimit", R"("8Gi")"},
      {{"--nproc-per-node=gpu"}, "MAIN|env|[PET_NPROC_PER_NODE]|value", R"("gpu")"},
      {{"--nproc-per-node=4"}, "spec|nprocPerNode", R"("4")"},
      {{"--min-workers=1", "--workers=3"}, "spec|elasticPolicy|minReplicas", "1"},
      {{"--max-workers=6", "--min-workers=1", "--workers=3"}, "spec|elasticPolicy|maxReplicas", "6"},
  };
}

// A role's own flags, where it has them.
void add_role(std::vector<Case>& cases, const std::string& flag, const std::string& role,
              const std::vector<std::string>& with) {
  const std::string pod = fmt::format("spec|tfReplicaSpecs|{}|template|spec|", role);
  const auto add = [&](const std::string& name, const std::string& value, const std::string& place,
                       const std::string& want) {
    std::vector<std::string> words = {fmt::format("--{}-{}={}", flag, name, value)};
    words.insert(words.end(), with.begin(), with.end());
    cases.push_back({words, pod + place, want});
  };
  add("cpu", "2", "containers|0|resources|requests|cpu", R"("2")");
  add("cpu-limit", "4", "containers|0|resources|limits|cpu", R"("4")");
  add("memory", "1Gi", "containers|0|resources|requests|memory", R"("1Gi")");
  add("memory-limit", "2Gi", "containers|0|resources|limits|memory", R"("2Gi")");
  add("selector", "zone=b", "nodeSelector", R"({"zone":"b"})");
  if (flag != "evaluator") add("port", "2333", "containers|0|ports|0|containerPort", "2333");
  if (flag != "worker" && flag != "ps") return;
  add("image", "role:1", "containers|0|image", R"("role:1")");
  add("affinity-policy", "spread",
      "affinity|podAntiAffinity|preferredDuringSchedulingIgnoredDuringExecution|0|podAffinityTerm|topologyKey",
      R"("kubernetes.io/hostname")");
  cases.back().words.push_back(fmt::format("--{}-affinity-constraint=preferred", flag));
  add("affinity-constraint", "required",
      "affinity|podAffinity|requiredDuringSchedulingIgnoredDuringExecution|0|topologyKey",
      R"("kubernetes.io/hostname")");
  cases.back().words.push_back(fmt::format("--{}-affinity-policy=binpack", flag));
}

std::vector<Case> tf() {
  std::vector<Case> cases = {
      {{"--workers=3"}, "spec|tfReplicaSpecs|Worker|replicas", "3"},
      {{"--retry=2"}, "spec|runPolicy|backoffLimit", "2"},
      {{"--retry=2", "--workers=2"}, "spec|tfReplicaSpecs|Worker|restartPolicy", R"("OnFailure")"},
      {{"--shell=bash"}, "MAIN|command|0", R"("bash")"},
      {{"--ps=2"}, "spec|tfReplicaSpecs|PS|replicas", "2"},
      {{"--ps-gpus=2", "--ps=1"},
       "spec|tfReplicaSpecs|PS|template|spec|containers|0|resources|limits|nvidia.com/gpu",
       R"("2")"},
      {{"--chief"}, "spec|tfReplicaSpecs|Worker|restartPolicy", R"("OnFailure")"},
      {{"--evaluator"}, "spec|tfReplicaSpecs|Evaluator|replicas", "1"},
      {{"--success-policy=AllWorkers"}, "spec|successPolicy", R"("AllWorkers")"},
      {{"--starting-timeout=5m"}, "spec|runPolicy|schedulingPolicy|scheduleTimeoutSeconds", "300"},
      {{"--role-sequence=Worker,PS"}, "metadata|annotations|job-role-sequence", R"("Worker,PS")"},
      {{"--share-memory=8Gi"}, "POD|spec|volumes|[dshm]|emptyDir|sizeLimit", R"("8Gi")"},
      {{"--clean-task-policy=All"}, "spec|runPolicy|cleanPodPolicy", R"("All")"},
      {{"--running-timeout=1h"}, "spec|runPolicy|activeDeadlineSeconds", "3600"},
      {{"--ttl-after-finished=90s"}, "spec|runPolicy|ttlSecondsAfterFinished", "90"},
      {{"--min-workers=1", "--workers=3"}, "spec|enableDynamicWorker", "true"},
  };
  add_role(cases, "worker", "Worker", {"--workers=2"});
  add_role(cases, "ps", "PS", {"--ps=1"});
  add_role(cases, "chief", "Chief", {"--chief"});
  add_role(cases, "evaluator", "Evaluator", {"--evaluator"});
  return cases;
}

std::vector<Case> et() {
  const std::string launcher = "spec|mpiReplicaSpecs|Launcher|";
  return {
      {{"--workers=3"}, "spec|mpiReplicaSpecs|Worker|replicas", "3"},
      {{"--retry=2"}, "spec|runPolicy|backoffLimit", "2"},
      {{"--job-backoff-limit=4", "--retry=2"}, "spec|runPolicy|backoffLimit", "4"},
      {{"--name=demo"}, "spec|runPolicy|backoffLimit", "6"},
      {{"--shell=bash"}, launcher + "template|spec|containers|0|command|0", R"("bash")"},
      {{"--device=amd.com/gpu=2"}, launcher + "template|spec|containers|0|resources", "nothing"},
      {{"--cpu=2"}, "MAIN|resources|requests|cpu", R"("2")"},
      {{"--memory=4Gi"}, "MAIN|resources|limits|memory", R"("4Gi")"},
      {{"--min-workers=2", "--workers=3"}, "metadata|annotations|gangway.dev/min-workers", R"("2")"},
      {{"--minWorkers=2", "--workers=3"}, "MAIN|env|[minWorkers]|value", R"("2")"},
      {{"--max-workers=6"}, "metadata|annotations|gangway.dev/max-workers", R"("6")"},
      {{"--spot-instance"}, "metadata|annotations|job-supervisor.kube-ai.io/spot-instance", R"("true")"},
      {{"--max-wait-time=60"}, "metadata|annotations|job-supervisor.kube-ai.io/max-wait-time", R"("60")"},
      {{"--launcher-selector=zone=l"}, launcher + "template|spec|nodeSelector", R"({"zone":"l"})"},
      {{"--launcher-annotation=x=l"}, launcher + "template|metadata|annotations|x", R"("l")"},
      {{"--worker-annotation=x=w"}, "POD|metadata|annotations|x", R"("w")"},
      {{"--job-restart-policy=OnFailure"}, launcher + "restartPolicy", R"("OnFailure")"},
      {{"--worker-restart-policy=OnFailure"}, "spec|mpiReplicaSpecs|Worker|restartPolicy", R"("OnFailure")"},
      {{"--ssh-secret=keys"}, "metadata|annotations|arena.kubeflow.org/ssh-secret", R"("keys")"},
  };
}

std::vector<Case> ray() {
  const std::string head = "spec|rayClusterSpec|headGroupSpec|";
  const std::string group = "spec|rayClusterSpec|workerGroupSpecs|0|";
  const std::string scaler = "spec|rayClusterSpec|autoscalerOptions|";
  std::vector<Case> cases = {
      {{"--worker-replicas=3"}, group + "replicas", "3"},
      {{"--workers=3"}, group + "replicas", "3"},
      {{"--workers=3"}, "MAIN|env|[workers]|value", R"("3")"},
      {{"--worker-min-replicas=1"}, group + "minReplicas", "1"},
      {{"--min-workers=1"}, group + "minReplicas", "1"},
      {{"--worker-max-replicas=5"}, group + "maxReplicas", "5"},
      {{"--max-workers=5"}, group + "maxReplicas", "5"},
      {{"--worker-num-of-hosts=2"}, group + "numOfHosts", "2"},
      {{"--retry=2"}, "spec|backoffLimit", "2"},
      {{"--head-service-type=NodePort"}, head + "serviceType", R"("NodePort")"},
      {{"--ray-version=2.9.0"}, "spec|rayClusterSpec|rayVersion", R"("2.9.0")"},
      {{"--share-memory=8Gi"}, "POD|spec|volumes|[dshm]|emptyDir|sizeLimit", R"("8Gi")"},
      {{"--suspend"}, "spec|suspend", "true"},
      {{"--shutdown-after-finished=false"}, "spec|shutdownAfterJobFinishes", "false"},
      {{"--ttl-after-finished=60s"}, "spec|ttlSecondsAfterFinished", "60"},
      {{"--active-deadline-seconds=1h"}, "spec|activeDeadlineSeconds", "3600"},
      {{"--pre-stop-command=bye"}, "MAIN|lifecycle|preStop|exec|command", R"(["/bin/sh","-c","bye"])"},
      {{"--enable-autoscaling"}, "spec|rayClusterSpec|enableInTreeAutoscaling", "true"},
      {{"--device=amd.com/gpu=2"}, head + "template|spec|containers|0|resources", "nothing"},
  };
  for (const auto& [role, pod] : {std::pair{"head", head}, std::pair{"worker", group}}) {
    const std::string main = pod + "template|spec|containers|0|";
    cases.push_back({{fmt::format("--{}-image=r:1", role)}, main + "image", R"("r:1")"});
    cases.push_back({{fmt::format("--{}-cpu=2", role)}, main + "resources|requests|cpu", R"("2")"});
    cases.push_back({{fmt::format("--{}-memory=4Gi", role)}, main + "resources|limits|memory", R"("4Gi")"});
    cases.push_back({{fmt::format("--{}-gpu=1", role)}, main + "resources|limits|nvidia.com/gpu", R"("1")"});
  }
  for (const auto& [flag, place, want] :
       {std::tuple{"--autoscaler-cpu=1", "resources|requests|cpu", R"("1")"},
        std::tuple{"--autoscaler-memory=1Gi", "resources|limits|memory", R"("1Gi")"},
        std::tuple{"--autoscaler-image=as:1", "image", R"("as:1")"},
        std::tuple{"--autoscaler-image-pull-policy=Never", "imagePullPolicy", R"("Never")"},
        std::tuple{"--autoscaler-idle-timeout-seconds=30", "idleTimeoutSeconds", "30"},
        std::tuple{"--idle-timeout-seconds=30", "idleTimeoutSeconds", "30"},
        std::tuple{"--autoscaler-upscaling-mode=Aggressive", "upscalingMode", R"("Aggressive")"},
        std::tuple{"--upscaling-mode=Conservative", "upscalingMode", R"("Conservative")"}})
    cases.push_back({{flag, "--enable-autoscaling"}, scaler + place, want});
  return cases;
}

std::vector<Case> cases_of(JobType type) {
  std::vector<Case> cases = common();
  const std::vector<Case> own = type == JobType::kPytorch   ? pytorch()
                                : type == JobType::kTf      ? tf()
                                : type == JobType::kRay     ? ray()
                                : type == JobType::kEt      ? et()
                                : type == JobType::kHorovod ? horovod()
                                                            : mpi();
  cases.insert(cases.end(), own.begin(), own.end());
  return cases;
}

class EveryFlag : public ::testing::TestWithParam<JobType> {};

TEST_P(EveryFlag, LandsInItsField) {
  for (const Case& each : cases_of(GetParam())) check(GetParam(), each);
}

// A flag that nobody looks for in the manifest may as well be dropped on its way there.
TEST_P(EveryFlag, IsLookedFor) {
  std::set<std::string> covered;
  for (const Case& each : cases_of(GetParam()))
    for (const std::string& word : todays_arguments(each.words).words) covered.insert(word.substr(0, word.find('=')));
  SubmitFlags flags;
  flags.type = GetParam();
  CLI::App app;
  add_submit_flags(app, flags);
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      // Ray starts programs by itself: no shell has a part in it.
      if (name == "help" || (name == "shell" && GetParam() == JobType::kRay)) continue;
      EXPECT_TRUE(covered.contains("--" + name)) << info_of(GetParam()).name << " --" << name;
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<JobType>& type) {
  return std::string(info_of(type.param).name);
}
INSTANTIATE_TEST_SUITE_P(OfATypeOfJob, EveryFlag,
                         ::testing::Values(JobType::kMpi, JobType::kPytorch, JobType::kTf, JobType::kRay, JobType::kEt,
                                           JobType::kHorovod),
                         name_of);

TEST(SubmitFlags, OfWhatIsGivenTwiceTheLastCounts) {
  const auto made = submitted(JobType::kMpi, {"--workers=3", "--workers=4", "--priority=medium", "--priority=medium"});
  ASSERT_TRUE(made);
  EXPECT_EQ(text_at(made->job, "spec|replicas"), "4");
}

TEST(SubmitFlags, WhatIsNoNumberNamesItsFlag) {
  for (const char* flag : {"--gpus", "--workers", "--retry"}) {
    const auto made = submitted(JobType::kMpi, {fmt::format("{}=many", flag)});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, fmt::format("{}: must be a whole number (got many)", flag));
  }
}

}  // namespace
}  // namespace gangway::cli::arena
