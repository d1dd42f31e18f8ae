// The tests of this program have a network of their own. Whatever else runs on the machine (clusters, what a killed run
// left behind, the same tests once more), they do not meet: their ports, addresses and rules are only theirs.
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "sys/descriptor.h"

namespace gangway::agent {
namespace {

void set_up_loopback() {
  const sys::Descriptor control(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  std::strncpy(loopback.ifr_name, "lo", IFNAMSIZ - 1);
  loopback.ifr_flags = IFF_UP;
  ASSERT_EQ(::ioctl(control.get(), SIOCSIFFLAGS, &loopback), 0) << std::strerror(errno);
}

// As machines have it: addresses of services are looked up like any other before rules turn them into those of pods.
void add_default_route() {
  ASSERT_EQ(std::system("ip link add out0 type veth peer name out1 && ip addr add 192.0.2.2/24 dev out0 && "
                        "ip link set out0 up && ip link set out1 up && ip route add default via 192.0.2.1"),
            0);
}

// /sys shows the interfaces of the network it was mounted in.
void mount_own_sys() {
  ASSERT_EQ(::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0) << std::strerror(errno);
  std::string own = std::filesystem::temp_directory_path() / "gangway-sys-XXXXXX";
  ASSERT_NE(::mkdtemp(own.data()), nullptr);
  ASSERT_EQ(::mount("sysfs", own.c_str(), "sysfs", 0, nullptr), 0) << std::strerror(errno);
  const std::string cgroups = own + "/fs/cgroup";
  ASSERT_EQ(::mount("/sys/fs/cgroup", cgroups.c_str(), nullptr, MS_BIND | MS_REC, nullptr), 0) << std::strerror(errno);
  ASSERT_EQ(::mount(own.c_str(), "/sys", nullptr, MS_BIND | MS_REC, nullptr), 0) << std::strerror(errno);
  ASSERT_EQ(::umount2(own.c_str(), MNT_DETACH), 0) << std::strerror(errno);
  ASSERT_EQ(::rmdir(own.c_str()), 0) << std::strerror(errno);
}

class OwnNetwork : public ::testing::Environment {
 public:
  // Before any test has made a thread: those that come later are in it too, and so is every command.
  void SetUp() override {
    if (::geteuid() != 0) return;  // tests that need a network to change are skipped then
    ASSERT_EQ(::unshare(CLONE_NEWNET | CLONE_NEWNS), 0) << std::strerror(errno);
    set_up_loopback();
    add_default_route();
    mount_own_sys();
  }
};

[[maybe_unused]] const auto* const kOwnNetwork = ::testing::AddGlobalTestEnvironment(new OwnNetwork);

}  // namespace
}  // namespace gangway::agent
