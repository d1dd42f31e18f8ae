// BareNetwork: the least that a pod's network can be: a new namespace with nothing but a loopback. For tests.
#pragma once

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "agent/network/pod_network.h"
#include "agent/oci/mounts.h"
#include "agent/oci/namespaces.h"
#include "base/hash.h"
#include "sys/event_loop.h"
#include "sys/file_descriptor.h"

namespace gangway::agent::oci {

class BareNetwork final : public PodNetwork {
 public:
  BareNetwork(sys::EventLoop& loop, std::string folder) : loop_(loop), folder_(std::move(folder)) {}

  void recover(std::set<std::string> pods, sys::Completion<std::map<std::string, PodAddresses>> done) override {
    std::map<std::string, PodAddresses> attached;
    for (const auto& uid : pods) {
      if (is_held_namespace(path(uid))) attached.emplace(uid, addresses(uid));
    }
    loop_.post([done, attached] { done(attached); });
  }
  void attach(SandboxSpec spec, sys::Completion<PodAddresses> done) override {
    const auto& uid = spec.pod.uid;
    PodAddresses given = addresses(uid);
    if (spec.host_network) given.netns_path.clear();
    if (!spec.host_network && !is_held_namespace(path(uid))) std::thread([&] { make(uid); }).join();
    loop_.post([done, given] { done(given); });
  }
  void detach(const std::string& uid, sys::Completion<void> done) override {
    static_cast<void>(unmount_below(path(uid)));
    ::unlink(path(uid).c_str());
    loop_.post([done] { done({}); });
  }

 private:
  std::string path(const std::string& uid) const { return folder_ + "/" + uid; }
  PodAddresses addresses(const std::string& uid) const {
    const auto hash = fnv1a(uid);
    return {.addresses = {"127.0." + std::to_string(hash >> 8U & 255U) + "." + std::to_string(hash & 255U)},
            .netns_path = path(uid),
            .resolv_conf = "nameserver 127.0.0.53\n",
            .hosts = "127.0.0.1 localhost pod-" + uid + "\n"};
  }
  void make(const std::string& uid) const {
    static_cast<void>(make_folders(folder_));
    const sys::FileDescriptor file(::open(path(uid).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ::unshare(CLONE_NEWNET);
    const sys::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    request.ifr_name[0] = 'l';
    request.ifr_name[1] = 'o';
    request.ifr_flags = IFF_UP;
    ::ioctl(socket.get(), SIOCSIFFLAGS, &request);
    static_cast<void>(mount_bind("/proc/thread-self/ns/net", path(uid)));
  }

  sys::EventLoop& loop_;
  std::string folder_;
};

}  // namespace gangway::agent::oci
