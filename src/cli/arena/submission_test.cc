#include "cli/arena/submission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arena/arguments.h"

namespace gangway::cli::arena {
namespace {

using ::testing::HasSubstr;

SubmitFacts facts() {
  SubmitFacts known;
  known.priority_classes = {"critical", "medium"};
  known.serves_queues = true;
  known.queues = {"default", "team"};
  known.home = "/home/me";
  known.read_file = [](const std::string& path) -> Result<std::string> {
    if (path == "/home/me/train.conf" || path == "train.conf") return std::string("lr=1");
    return bad_request("no such file");
  };
  return known;
}

SubmitFlags a_job(JobType type = JobType::kPytorch) {
  SubmitFlags flags;
  flags.type = type;
  flags.name = "demo";
  flags.image = "image:1";
  flags.command = {"python train.py"};
  if (type == JobType::kRay) flags.ray.replicas = 2;
  if (type == JobType::kEt) {
    flags.min_workers = 1;
    flags.max_workers = 1000;
  }
  return flags;
}

TEST(Submission, WhatIsRightOfEveryTypeIsTaken) {
  for (const JobTypeInfo& info : job_types()) {
    const auto made = check_submission(a_job(info.type), facts());
    EXPECT_TRUE(made) << info.name << ": " << (made ? "" : made.error().causes.front().message);
  }
}

struct Wrong {
  const char* name;
  std::function<void(SubmitFlags&)> change;
  std::string flag;
  std::string message;
  JobType type = JobType::kPytorch;
};

class WrongSubmission : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongSubmission, IsRefusedWithTheFlagThatIsWrong) {
  const Wrong& wrong = GetParam();
  SubmitFlags flags = a_job(wrong.type);
  wrong.change(flags);
  const auto made = check_submission(flags, facts());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "failed to validate command args");
  ASSERT_EQ(made.error().causes.size(), 1u)
      << made.error().causes[0].message << " / " << made.error().causes.back().message;
  EXPECT_EQ(made.error().causes[0].field, wrong.flag);
  EXPECT_THAT(made.error().causes[0].message, HasSubstr(wrong.message));
}

std::vector<Wrong> common() {
  return {
      {"no_command", [](auto& f) { f.command.clear(); }, "COMMAND", "not found command args"},
      {"no_name", [](auto& f) { f.name = ""; }, "--name", "must be set"},
      {"long_name", [](auto& f) { f.name = std::string(50, 'a'); }, "--name", "50 characters; at most 49"},
      {"upper_name", [](auto& f) { f.name = "Demo"; }, "--name", "lower-case letters"},
      {"dotted_name", [](auto& f) { f.name = "a.b"; }, "--name", "lower-case letters"},
      {"digit_first", [](auto& f) { f.name = "1a"; }, "--name", "begin with a letter"},
      {"no_image", [](auto& f) { f.image = ""; }, "--image", "must be set"},
      {"image", [](auto& f) { f.image = "my image"; }, "--image",
       "must be an image's name, as registry/repository:tag (got my image)"},
      {"image_tag", [](auto& f) { f.image = "repo:"; }, "--image", "(got repo:)"},
      {"sync_image", [](auto& f) { f.sync_image = "Git"; }, "--sync-image", "must be an image's name"},
      {"tensorboard_image", [](auto& f) { f.tensorboard_image = "a//b"; }, "--tensorboard-image",
       "must be an image's name"},
      {"priority", [](auto& f) { f.priority = "urgent"; }, "--priority",
       "the priority class urgent does not exist; there are: critical, medium"},
      {"queue", [](auto& f) { f.queue = "other"; }, "--queue", "has no queue other; there are: default, team"},
      {"negative_gpus", [](auto& f) { f.gpus = -1; }, "--gpus", "at least 0 (got -1)"},
      {"no_workers", [](auto& f) { f.workers = 0; }, "--workers", "at least 1 (got 0)"},
      {"negative_retry", [](auto& f) { f.retry = -1; }, "--retry", "at least 0"},
      {"cpu", [](auto& f) { f.cpu = "many"; }, "--cpu", "must be a quantity"},
      {"memory", [](auto& f) { f.memory = "-1Gi"; }, "--memory", "must not be negative"},
      {"share_memory", [](auto& f) { f.share_memory = "2Gib"; }, "--share-memory", "must be a quantity"},
      {"env", [](auto& f) { f.env = {"A"}; }, "--env", "must be KEY=VALUE (got A)"},
      {"env_name", [](auto& f) { f.env = {"=b"}; }, "--env", "must be KEY=VALUE"},
      {"label", [](auto& f) { f.label = {"a"}; }, "--label", "must be KEY=VALUE"},
      {"label_value", [](auto& f) { f.label = {"a=b c"}; }, "--label", "b c: "},
      {"annotation", [](auto& f) { f.annotation = {"a b=c"}; }, "--annotation", "a b: "},
      {"selector", [](auto& f) { f.selector = {"zone"}; }, "--selector", "must be KEY=VALUE"},
      {"toleration", [](auto& f) { f.toleration = {"gpu"}; }, "--toleration", "must be `all`, KEY=VALUE:EFFECT"},
      {"toleration_effect", [](auto& f) { f.toleration = {"a=b:Never"}; }, "--toleration", "NoSchedule"},
      {"toleration_operator", [](auto& f) { f.toleration = {"a=b:NoSchedule,Exists"}; }, "--toleration",
       "Exists takes no value"},
      {"data", [](auto& f) { f.data = {"claim"}; }, "--data", "must be CLAIM:/path"},
      {"data_root", [](auto& f) { f.data = {"claim:/"}; }, "--data", "must not be mounted over /"},
      {"data_relative", [](auto& f) { f.data = {"claim:x"}; }, "--data", "must begin with /"},
      {"data_twice", [](auto& f) { f.data = {"claim:/a", "claim:/b"}; }, "--data", "claim is given twice"},
      {"data_dir", [](auto& f) { f.data_dir = {"/a:/b:/c"}; }, "--data-dir", "too many colons"},
      {"data_dir_root", [](auto& f) { f.data_dir = {"/"}; }, "--data-dir", "must not be mounted over /"},
      {"same_path", [](auto& f) { f.data = {"claim:/a"}, f.data_dir = {"/b:/a"}; }, "--data-dir",
       "/a is mounted twice"},
      {"device", [](auto& f) { f.device = {"amd.com/gpu"}; }, "--device", "must be RESOURCE=COUNT"},
      {"device_nvidia", [](auto& f) { f.device = {"nvidia.com/gpu=1"}; }, "--device", "asked for with --gpus"},
      {"device_count", [](auto& f) { f.device = {"amd.com/gpu=x"}; }, "--device", "must be a quantity"},
      {"config_file", [](auto& f) { f.config_file = {"/none:/etc/x"}; }, "--config-file", "/none cannot be read"},
      {"config_relative", [](auto& f) { f.config_file = {"train.conf:etc/x"}; }, "--config-file", "must begin with /"},
      {"config_nowhere", [](auto& f) { f.config_file = {"train.conf"}; }, "--config-file", "needs a place"},
      {"sync_mode", [](auto& f) { f.sync_mode = "svn", f.sync_source = "x"; }, "--sync-mode",
       "must be one of git, rsync"},
      {"sync_source", [](auto& f) { f.sync_mode = "git"; }, "--sync-source", "must be set when --sync-mode is set"},
      {"sync_alone", [](auto& f) { f.sync_source = "x"; }, "--sync-mode", "must be git or rsync"},
      {"pull_policy", [](auto& f) { f.image_pull_policy = "Often"; }, "--image-pull-policy", "must be one of Always"},
      {"pull_secret", [](auto& f) { f.image_pull_secret = {"A_B"}; }, "--image-pull-secret", "name of a Secret"},
      {"shell", [](auto& f) { f.shell = "zsh"; }, "--shell", "must be one of sh, bash"},
      {"working_dir", [](auto& f) { f.working_dir = "root"; }, "--working-dir", "begins with /"},
      {"logdir", [](auto& f) { f.tensorboard = true, f.logdir = "logs"; }, "--logdir", "begins with /"},
      {"model", [](auto& f) { f.model_name = "m"; }, "--model-source", "must be set"},
      {"clean_policy", [](auto& f) { f.clean_task_policy = "Some"; }, "--clean-task-policy", "None, Running, All"},
      {"timeout", [](auto& f) { f.running_timeout = "long"; }, "--running-timeout", "must be a duration"},
      {"ttl", [](auto& f) { f.ttl_after_finished = "-5s"; }, "--ttl-after-finished", "at least 0s"},
      {"nproc", [](auto& f) { f.nproc_per_node = "0"; }, "--nproc-per-node", "auto, cpu, gpu or a number"},
      {"on_preempt", [](auto& f) { f.on_preempt = "cry"; }, "--on-preempt", "fail, requeue, shrink"},
      {"shrink", [](auto& f) { f.on_preempt = "Shrink"; }, "--on-preempt", "needs --min-workers"},
      {"min_workers", [](auto& f) { f.workers = 2, f.min_workers = 3; }, "--min-workers",
       "must not be above --workers"},
      {"min_workers_0", [](auto& f) { f.min_workers = 0; }, "--min-workers", "at least 1"},
      {"max_workers", [](auto& f) { f.workers = 4, f.max_workers = 3; }, "--max-workers",
       "must not be below --workers"},
      {"checkpoint", [](auto& f) { f.checkpoint_dir = "ckpt"; }, "--checkpoint-dir", "begins with /"},
      {"min_runtime", [](auto& f) { f.min_runtime = "10"; }, "--min-runtime", "must be a duration"},
      {"expected", [](auto& f) { f.expected_duration = "0s"; }, "--expected-duration", "more than 0s"},
  };
}

std::vector<Wrong> of_types() {
  const JobType tf = JobType::kTf;
  const JobType ray = JobType::kRay;
  const JobType et = JobType::kEt;
  return {
      {"tf_workers", [](auto& f) { f.workers = 0; }, "--workers", "no --chief", tf},
      {"tf_ps", [](auto& f) { f.tf.ps = -1; }, "--ps", "at least 0", tf},
      {"tf_image", [](auto& f) { f.tf.ps_role.image = "http://x"; }, "--ps-image", "must be an image's name", tf},
      {"tf_port", [](auto& f) { f.tf.worker.port = 70000; }, "--worker-port", "must be a port", tf},
      {"tf_affinity", [](auto& f) { f.tf.ps_role.affinity_policy = "near"; }, "--ps-affinity-policy", "spread", tf},
      {"tf_success", [](auto& f) { f.tf.success_policy = "One"; }, "--success-policy", "AllWorkers", tf},
      {"tf_sequence", [](auto& f) { f.tf.role_sequence = "Worker,Boss"; }, "--role-sequence", "must be roles", tf},
      {"tf_selector", [](auto& f) { f.tf.chief_role.selector = {"x"}; }, "--chief-selector", "KEY=VALUE", tf},
      {"ray_replicas", [](auto& f) { f.ray.replicas.reset(); }, "--worker-replicas", "must be set", ray},
      {"ray_name", [](auto& f) { f.name = std::string(48, 'a'); }, "--name", "at most 47", ray},
      {"ray_min", [](auto& f) { f.ray.min_replicas = 3, f.ray.max_replicas = 2; }, "--worker-min-replicas",
       "must not be above", ray},
      {"ray_between", [](auto& f) { f.ray.min_replicas = 3, f.ray.max_replicas = 4; }, "--worker-replicas",
       "between 3 and 4", ray},
      {"ray_suspend", [](auto& f) { f.ray.suspend = true, f.ray.shutdown_after_finished = false; }, "--suspend",
       "needs --shutdown-after-finished", ray},
      {"ray_images", [](auto& f) { f.image = "", f.ray.head.image = "x"; }, "--image", "--worker-image", ray},
      {"et_restart", [](auto& f) { f.et.worker_restart_policy = "Always"; }, "--worker-restart-policy",
       "Never, OnFailure", et},
      {"et_max", [](auto& f) { f.workers = 2, f.min_workers = 2, f.max_workers = 1; }, "--max-workers", "", et},
  };
}

std::string name_of(const ::testing::TestParamInfo<Wrong>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Common, WrongSubmission, ::testing::ValuesIn(common()), name_of);

TEST(Submission, WhatIsWrongWithOneTypeIsRefused) {
  for (const Wrong& wrong : of_types()) {
    SubmitFlags flags = a_job(wrong.type);
    wrong.change(flags);
    const auto made = check_submission(flags, facts());
    ASSERT_FALSE(made) << wrong.name;
    EXPECT_EQ(made.error().causes[0].field, wrong.flag) << wrong.name;
    EXPECT_THAT(made.error().causes[0].message, HasSubstr(wrong.message)) << wrong.name;
  }
}

TEST(Submission, AllThatIsWrongIsSaidAtOnce) {
  SubmitFlags flags = a_job();
  flags.gpus = -1;
  flags.env = {"A"};
  flags.toleration = {"x"};
  const auto made = check_submission(flags, facts());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().causes.size(), 3u);
}

TEST(Submission, AJobThatExistsIsNotMadeAgain) {
  SubmitFacts known = facts();
  known.taken = {"PyTorchJob/demo", "ConfigMap/demo-pytorchjob"};
  auto made = check_submission(a_job(), known);
  ASSERT_FALSE(made);
  ASSERT_EQ(made.error().causes.size(), 1u);
  EXPECT_THAT(made.error().causes[0].message, HasSubstr("the job demo exists already in namespace default"));
  known.taken = {"ConfigMap/demo-pytorchjob"};
  made = check_submission(a_job(), known);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().causes[0].message, HasSubstr("ConfigMap/demo-pytorchjob of an earlier job is still there"));
}

TEST(Submission, AQueueIsTheNamespacesOwnOrANamedOne) {
  SubmitFlags flags = a_job();
  flags.queue = kDefaultQueue;
  auto made = check_submission(flags, facts());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->queue, "default");
  flags.queue = "team";
  made = check_submission(flags, facts());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->queue, "team");
  SubmitFacts without = facts();
  without.serves_queues = false;
  made = check_submission(flags, without);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().causes[0].message, HasSubstr("this cluster has no queues"));
}

TEST(Submission, ConfigFilesAreReadAndTheirHomeIsKnown) {
  SubmitFlags flags = a_job();
  flags.config_file = {"~/train.conf:/etc/train/train.conf"};
  const auto made = check_submission(flags, facts());
  ASSERT_TRUE(made);
  ASSERT_EQ(made->config_files.size(), 1u);
  EXPECT_EQ(made->config_files[0].content, "lr=1");
  EXPECT_EQ(made->config_files[0].mount.path, "/etc/train/train.conf");
}

TEST(Tolerations, ReadAsKubectlWouldWriteThem) {
  struct Case {
    const char* text;
    json::Value want;
  };
  for (const Case& one :
       {Case{"all", json::Object{{"operator", "Exists"}}},
        Case{"gpu=yes:NoSchedule",
             json::Object{{"key", "gpu"}, {"operator", "Equal"}, {"value", "yes"}, {"effect", "NoSchedule"}}},
        Case{"gpu:NoExecute,Exists", json::Object{{"key", "gpu"}, {"operator", "Exists"}, {"effect", "NoExecute"}}},
        Case{"gpu=:NoSchedule,Equal",
             json::Object{{"key", "gpu"}, {"operator", "Equal"}, {"value", ""}, {"effect", "NoSchedule"}}}}) {
    const auto toleration = parse_toleration(one.text);
    ASSERT_TRUE(toleration) << one.text;
    EXPECT_TRUE(json::equal(*toleration, one.want)) << json::serialize(*toleration);
  }
}

}  // namespace
}  // namespace gangway::cli::arena
