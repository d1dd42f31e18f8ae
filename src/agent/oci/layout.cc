#include "agent/oci/layout.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/cluster_id.h"
#include "base/hash.h"
#include "base/quote.h"

namespace gangway::agent::oci {

Layout::Layout(std::string data_dir)
    : data_dir_(std::move(data_dir)), short_id_(cluster_short_id(data_dir_)), root_(data_dir_ + "/agent") {}

Layout layout_at(const std::string& data_dir) {
  std::error_code error;
  const auto real = std::filesystem::canonical(data_dir, error);
  return Layout(error ? data_dir : real.string());
}

std::string Layout::pod(std::string_view uid) const {
  return fmt::format("{}/pods/{}", root_, uid);
}

std::string Layout::volume(std::string_view uid, std::string_view name) const {
  return fmt::format("{}/pods/{}/volumes/{}", root_, uid, name);
}

std::string Layout::container(const ContainerId& id) const {
  return fmt::format("{}/pods/{}/containers/{}/{}", root_, id.pod_uid, id.container, id.attempt);
}

std::string Layout::log(const PodIdentity& pod, const ContainerId& id) const {
  // A pod's name may be as long as a file's; the uid is what tells pods apart.
  return log_in(fmt::format("{}/{}_{}_{}", logs(), pod.ns, pod.name.substr(0, 150), pod.uid), id);
}

std::string Layout::log_in(const std::string& log_folder, const ContainerId& id) {
  return fmt::format("{}/{}/{}.log", log_folder, id.container, id.attempt);
}

std::string Layout::pod_cgroup(std::string_view uid) const {
  return fmt::format("/{}/pod{}", short_id_, uid);
}

std::string Layout::cgroup(const ContainerId& id) const {
  return fmt::format("{}/{}-{}", pod_cgroup(id.pod_uid), id.container, id.attempt);
}

std::string Layout::shim_cgroup(const ContainerId& id) const {
  return fmt::format("/{}/shims/{}", short_id_, runtime_id(id));
}

std::string Layout::runtime_id(const ContainerId& id) const {
  return fmt::format("{}-{}-{}-{:016x}", short_id_, id.container.substr(0, 20), id.attempt,
                     fnv1a(fmt::format("{}/{}/{}", id.pod_uid, id.container, id.attempt)));
}

ContainerId holder_of(std::string_view pod_uid) {
  return {.pod_uid = std::string(pod_uid), .container = "_holder", .attempt = 0};
}

Result<void> check_path_part(std::string_view what, std::string_view name) {
  const bool leads_elsewhere = name.empty() || name == "." || name == ".." || name.size() > 253 ||
                               name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos;
  if (leads_elsewhere) return bad_request(fmt::format("{} {} cannot be the name of a folder", what, quoted(name)));
  return {};
}

Result<void> check_path_parts(const PodIdentity& pod) {
  GW_CHECKED(check_path_part("the pod's uid", pod.uid));
  GW_CHECKED(check_path_part("the pod's namespace", pod.ns));
  return check_path_part("the pod's name", pod.name);
}

Result<void> check_path_parts(const ContainerId& id) {
  GW_CHECKED(check_path_part("the pod's uid", id.pod_uid));
  return check_path_part("the container's name", id.container);
}

}  // namespace gangway::agent::oci
