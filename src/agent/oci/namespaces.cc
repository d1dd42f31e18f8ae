#include "agent/oci/namespaces.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "agent/oci/mounts.h"
#include "base/quote.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

using sys::file_error;
using sys::FileDescriptor;

constexpr long kNamespaceFiles = 0x6e736673;  // NSFS_MAGIC

template <class T>
Result<T> in_own_thread(const std::function<Result<T>()>& job) {
  Result<T> result = internal_error("the thread did not run");
  std::thread([&] { result = job(); }).join();
  return result;
}

Result<void> enter(const std::string& netns) {
  if (netns.empty()) return {};
  const FileDescriptor file(::open(netns.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return file_error("open", netns);
  if (::setns(file.get(), CLONE_NEWNET) != 0) return file_error("enter", netns);
  return {};
}

// Only what belongs to a namespace of the pod: anything else would change the machine.
bool is_own_setting(const std::string& name, const NamespaceRequest& request) {
  if (name.find("..") != std::string::npos) return false;
  if (name.starts_with("net.")) return !request.netns.empty();
  const auto starts = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return request.ipc && (starts("kernel.shm") || starts("kernel.msg") || starts("kernel.sem") || starts("fs.mqueue."));
}

Result<void> set_sysctls(const NamespaceRequest& request) {
  for (auto [name, value] : request.sysctls) {
    std::replace(name.begin(), name.end(), '/', '.');
    if (!is_own_setting(name, request)) return bad_request("sysctl " + quoted(name) + " is not the pod's own");
    std::string path = "/proc/sys/" + name;
    std::replace(path.begin() + 10, path.end(), '.', '/');
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file || ::write(file.get(), value.data(), value.size()) < 0) return file_error("set", path);
  }
  return {};
}

Result<void> hold(const std::string& folder, const std::string& kind) {
  const std::string target = folder + "/" + kind;
  const FileDescriptor made(::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!made) return file_error("create", target);
  return mount_bind("/proc/thread-self/ns/" + kind, target);
}

Result<void> make_and_hold(const NamespaceRequest& request) {
  const bool ipc = request.ipc && !is_held_namespace(request.folder + "/ipc");
  const bool uts = request.uts && !is_held_namespace(request.folder + "/uts");
  if (::unshare((ipc ? CLONE_NEWIPC : 0) | (uts ? CLONE_NEWUTS : 0)) != 0) {
    return file_error("make namespaces for", request.folder);
  }
  if (uts && ::sethostname(request.hostname.data(), request.hostname.size()) != 0) {
    return file_error("name the host", request.hostname);
  }
  GW_CHECKED(enter(request.netns));
  if (ipc || !request.ipc) GW_CHECKED(set_sysctls(request));
  if (ipc) GW_CHECKED(hold(request.folder, "ipc"));
  if (uts) GW_CHECKED(hold(request.folder, "uts"));
  return {};
}

FileDescriptor connected(int family, const sockaddr* address, socklen_t size) {
  FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), address, size) != 0) return FileDescriptor();
  return socket;
}

Result<FileDescriptor> connect_here(std::uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (auto socket = connected(AF_INET, reinterpret_cast<sockaddr*>(&v4), sizeof v4)) return socket;
  const int failure = errno;
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_addr = in6addr_loopback;
  if (auto socket = connected(AF_INET6, reinterpret_cast<sockaddr*>(&v6), sizeof v6)) return socket;
  return internal_error(fmt::format("dial tcp4 127.0.0.1:{}: connect: {}", port, std::strerror(failure)));
}

}  // namespace

Result<void> hold_namespaces(const NamespaceRequest& request) {
  GW_CHECKED(make_folders(request.folder, 0700));
  return in_own_thread<void>([&] { return make_and_hold(request); });
}

bool is_held_namespace(const std::string& path) {
  struct statfs facts{};
  return ::statfs(path.c_str(), &facts) == 0 && facts.f_type == kNamespaceFiles;
}

Result<FileDescriptor> connect_in(const std::string& netns, std::uint16_t port) {
  return in_own_thread<FileDescriptor>([&]() -> Result<FileDescriptor> {
    GW_CHECKED(enter(netns));
    return connect_here(port);
  });
}

}  // namespace gangway::agent::oci
