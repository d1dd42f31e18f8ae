#include "agent/oci/bundle.h"

#include <gtest/gtest.h>

namespace gangway::agent::oci {
namespace {

using json::find;
using json::parse;
using json::serialize;
using json::Value;

ContainerSpec a_spec() {
  ContainerSpec spec;
  spec.id = {.pod_uid = "u", .container = "main"};
  spec.limits = {.cpu_shares = 512, .cpu_quota_micros = 50'000, .memory_bytes = 1024, .pids = 10};
  return spec;
}

BundleFacts some_facts() {
  BundleFacts facts;
  facts.process = {.args = {"sleep", "5"},
                   .environment = {{"A", "1"}, {"B", "x=y"}},
                   .working_directory = "/work",
                   .user = {.uid = 1000, .gid = 100, .groups = {100, 27}, .home = ""}};
  facts.root = "/c/root";
  facts.init = "/data/init";
  facts.namespaces = {.network = "/run/netns/a", .ipc = "/p/ns/ipc", .uts = "", .pid = std::nullopt};
  facts.cgroup = "/gw/podu/main-0";
  facts.shm = "/p/shm";
  return facts;
}

void expect_json(const Value& value, std::string_view wanted) {
  const auto expected = parse(wanted);
  ASSERT_TRUE(expected) << wanted;
  EXPECT_TRUE(json::equal(value, *expected)) << serialize(value) << "\nis not\n" << wanted;
}

const Value& part(const Value& root, std::initializer_list<std::string_view> path) {
  static const Value kNone;
  const Value* found = find(root, path);
  EXPECT_NE(found, nullptr);
  return found == nullptr ? kNone : *found;
}

const Value* mount_at(const Value& root, std::string_view target) {
  const Value* result = nullptr;
  for (const auto& mount : part(root, {"mounts"}).as_array()) {
    if (json::string_at(mount, {"destination"}) != target) continue;
    EXPECT_EQ(result, nullptr) << target << " is mounted twice";
    result = &mount;
  }
  return result;
}

TEST(Bundle, StartsTheProgramUnderInitAsItsUser) {
  const auto spec = bundle_spec(a_spec(), some_facts());
  expect_json(part(spec, {"process", "args"}), R"(["/dev/gangway-init","sleep","5"])");
  expect_json(part(spec, {"process", "env"}), R"(["A=1","B=x=y"])");
  expect_json(part(spec, {"process", "user"}), R"({"uid":1000,"gid":100,"additionalGids":[100,27]})");
  expect_json(part(spec, {"process", "rlimits"}), R"([{"type":"RLIMIT_NOFILE","hard":1048576,"soft":1048576}])");
  EXPECT_EQ(json::string_at(spec, {"process", "cwd"}), "/work");
  expect_json(part(spec, {"process", "terminal"}), "false");
  expect_json(part(spec, {"process", "noNewPrivileges"}), "false");
  expect_json(part(spec, {"root"}), R"({"path":"/c/root","readonly":false})");
}

TEST(Bundle, HasTheProgramThatReachesOtherPods) {
  auto facts = some_facts();
  EXPECT_EQ(mount_at(bundle_spec(a_spec(), facts), "/dev/gangway-exec"), nullptr);
  facts.exec = "/data/exec";
  const auto spec = bundle_spec(a_spec(), facts);
  const auto* mount = mount_at(spec, "/dev/gangway-exec");
  ASSERT_NE(mount, nullptr);
  EXPECT_EQ(json::string_at(*mount, {"source"}), "/data/exec");
}

TEST(Bundle, JoinsMakesOrSharesNamespaces) {
  const auto spec = bundle_spec(a_spec(), some_facts());
  expect_json(part(spec, {"linux", "namespaces"}),
              R"([{"type":"mount"},{"type":"network","path":"/run/netns/a"},{"type":"ipc","path":"/p/ns/ipc"},
                  {"type":"pid"}])");
}

TEST(Bundle, LimitsWhatTheMachineCanLimit) {
  auto facts = some_facts();
  expect_json(part(bundle_spec(a_spec(), facts), {"linux", "resources"}),
              R"({"devices":[{"allow":false,"access":"rwm"}],
                  "cpu":{"shares":512,"quota":50000,"period":100000},"memory":{"limit":1024},"pids":{"limit":10}})");
  facts.limit_cpu = facts.limit_memory = facts.limit_pids = false;
  expect_json(part(bundle_spec(a_spec(), facts), {"linux", "resources"}),
              R"({"devices":[{"allow":false,"access":"rwm"}]})");
}

TEST(Bundle, GivesTheDevicesItIsTold) {
  auto facts = some_facts();
  facts.devices = {{.path = "/dev/nvidia1", .type = 'c', .major = 195, .minor = 1, .mode = 0666}};
  const auto spec = bundle_spec(a_spec(), facts);
  expect_json(part(spec, {"linux", "devices"}),
              R"([{"path":"/dev/nvidia1","type":"c","major":195,"minor":1,"fileMode":438,"uid":0,"gid":0}])");
  expect_json(part(spec, {"linux", "resources", "devices"}),
              R"([{"allow":false,"access":"rwm"},{"allow":true,"type":"c","major":195,"minor":1,"access":"rwm"}])");
}

TEST(Bundle, RunsTheHookThatBringsTheDriversLibraries) {
  auto facts = some_facts();
  EXPECT_EQ(find(bundle_spec(a_spec(), facts), {"hooks"}), nullptr);
  facts.gpu_hook = "/usr/bin/nvidia-container-runtime-hook";
  expect_json(part(bundle_spec(a_spec(), facts), {"hooks"}),
              R"({"prestart":[{"path":"/usr/bin/nvidia-container-runtime-hook",
                               "args":["/usr/bin/nvidia-container-runtime-hook","prestart"],
                               "env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]}]})");
}

TEST(Bundle, MountsFoldersBeforeWhatIsInThem) {
  auto facts = some_facts();
  facts.volumes = {{.source = "/v/deep", .target = "/data/a/b"},
                   {.source = "/v/top", .target = "/data", .read_only = true},
                   {.source = "/v/p", .target = "/p", .propagation = Propagation::kHostToContainer}};
  const auto spec = bundle_spec(a_spec(), facts);
  const auto& mounts = part(spec, {"mounts"}).as_array();
  const auto size = mounts.size();
  expect_json(mounts[size - 3],
              R"({"destination":"/data","type":"bind","source":"/v/top","options":["rbind","ro","rprivate"]})");
  EXPECT_EQ(json::string_at(mounts[size - 2], {"destination"}), "/p");
  EXPECT_EQ(json::string_at(mounts[size - 1], {"destination"}), "/data/a/b");
  EXPECT_EQ(json::string_at(spec, {"linux", "rootfsPropagation"}), "rslave");
}

TEST(Bundle, AVolumeReplacesTheFileTheSandboxGives) {
  auto facts = some_facts();
  facts.files = {{.source = "/p/hosts", .target = "/etc/hosts"}, {.source = "/p/resolv", .target = "/etc/resolv.conf"}};
  facts.volumes = {{.source = "/v/hosts", .target = "/etc/hosts"}, {.source = "/v/shm", .target = "/dev/shm"}};
  const auto spec = bundle_spec(a_spec(), facts);
  EXPECT_EQ(json::string_at(*mount_at(spec, "/etc/hosts"), {"source"}), "/v/hosts");
  EXPECT_EQ(json::string_at(*mount_at(spec, "/etc/resolv.conf"), {"source"}), "/p/resolv");
  EXPECT_EQ(json::string_at(*mount_at(spec, "/dev/shm"), {"source"}), "/v/shm");
}

TEST(Bundle, HidesTheMachineFromOrdinaryContainersOnly) {
  auto container = a_spec();
  const auto ordinary = bundle_spec(container, some_facts());
  EXPECT_NE(find(ordinary, {"linux", "maskedPaths"}), nullptr);
  expect_json(part(*mount_at(ordinary, "/sys"), {"options"}), R"(["nosuid","noexec","nodev","ro"])");
  EXPECT_EQ(mount_at(ordinary, "/sys/fs/cgroup"), nullptr);

  container.security.privileged = true;
  auto facts = some_facts();
  facts.show_cgroups = true;
  const auto privileged = bundle_spec(container, facts);
  EXPECT_EQ(find(privileged, {"linux", "maskedPaths"}), nullptr);
  EXPECT_EQ(find(privileged, {"linux", "readonlyPaths"}), nullptr);
  expect_json(part(*mount_at(privileged, "/sys"), {"options"}), R"(["nosuid","noexec","nodev","rw"])");
  EXPECT_NE(mount_at(privileged, "/sys/fs/cgroup"), nullptr);
  expect_json(part(privileged, {"linux", "resources", "devices"}), R"([{"allow":true,"access":"rwm"}])");
}

TEST(Bundle, Capabilities) {
  constexpr auto kAll = ~std::uint64_t{0};
  EXPECT_EQ(capabilities_of({}, kAll).size(), 14U);
  EXPECT_EQ(capabilities_of({.privileged = true}, kAll).size(), 41U);  // all that Linux knows
  EXPECT_EQ(capabilities_of({.dropped_capabilities = {"ALL"}}, kAll), std::vector<std::string>{});
  EXPECT_EQ(capabilities_of({.added_capabilities = {"net_admin"}, .dropped_capabilities = {"ALL"}}, kAll),
            std::vector<std::string>{"CAP_NET_ADMIN"});
  const auto all_but =
      capabilities_of({.added_capabilities = {"ALL"}, .dropped_capabilities = {"CAP_SYS_ADMIN"}}, kAll);
  EXPECT_EQ(all_but.size(), 40U);
  // CAP_SYS_ADMIN is number 21, CAP_CHOWN 0.
  EXPECT_EQ(capabilities_of({.privileged = true}, kAll & ~(1ULL << 21)).size(), 40U);
  EXPECT_EQ(capabilities_of({}, 1), std::vector<std::string>{"CAP_CHOWN"});
  EXPECT_EQ(capabilities_of({.added_capabilities = {"SYS_ADMIN"}, .dropped_capabilities = {"ALL"}}, 1),
            std::vector<std::string>{});
  EXPECT_EQ(capabilities_of({.added_capabilities = {"NO_SUCH"}}, kAll).size(), 14U);
}

}  // namespace
}  // namespace gangway::agent::oci
