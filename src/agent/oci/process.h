// What a container's program is started with: its arguments, environment, folder and user, put together from what the
// pod says and what the image says. Pure.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/runtime_types.h"
#include "base/result.h"

namespace gangway::agent::oci {

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};
  std::string home = {};  // empty: unknown
  bool operator==(const User&) const = default;
};

struct Process {
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string working_directory = {};
  User user;
};

// The image's own files, "" where it has none.
struct UserFiles {
  std::string passwd = {};
  std::string group = {};
};

// Kubernetes' rule: a command replaces entrypoint and command of the image, args only its command.
Result<std::vector<std::string>> arguments_of(const ContainerSpec& spec, const ImageDefaults& image);
// Later ones win: PATH, HOSTNAME and TERM, then the image's, then the pod's.
std::vector<std::pair<std::string, std::string>> environment_of(const ContainerSpec& spec, const ImageDefaults& image,
                                                                const std::string& hostname);
// `image_user` is "name", "1000", "name:group" or "1000:1000"; a pod's runAsUser and runAsGroup come first.
Result<User> user_of(const Security& security, const std::string& image_user, const UserFiles& files);

Result<Process> process_of(const ContainerSpec& spec, const ImageDefaults& image, const std::string& hostname,
                           const UserFiles& files);

}  // namespace gangway::agent::oci
