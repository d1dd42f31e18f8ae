#include "jobs/mpi_files.h"

#include <fmt/format.h>

namespace gangway::jobs {

std::string mpi_hostfile(const std::vector<std::string>& hosts, std::int64_t slots, HostForm form) {
  std::string text;
  for (const std::string& host : hosts)
    text += fmt::format("{}{}{}\n", host, form == HostForm::kSlots ? " slots=" : ":", slots);
  return text;
}

std::string mpi_discover_hosts(const std::vector<std::string>& running, std::optional<std::int64_t> slots) {
  std::string text = "#!/bin/sh\n";
  for (const std::string& host : running)
    text += slots ? fmt::format("echo {}:{}\n", host, *slots) : fmt::format("echo {}\n", host);
  return text;
}

std::string mpi_remote_start(std::string_view container) {
  // Containers of our nodes have a program for it, which waits for a worker that has not started yet. On others an
  // image brings kubectl, or has it put where the delivery container of other operators puts it.
  const std::string where = container.empty() ? "" : fmt::format("-c {} ", container);
  return fmt::format(
      "#!/bin/sh\n"
      "worker=$1\n"
      "shift\n"
      "if [ -x /dev/gangway-exec ]; then\n"
      "  exec /dev/gangway-exec -w 300 {0}\"$worker\" -- /bin/sh -c \"$*\"\n"
      "fi\n"
      "if [ -x /opt/kube/kubectl ]; then\n"
      "  kubectl=/opt/kube/kubectl\n"
      "else\n"
      "  kubectl=kubectl\n"
      "fi\n"
      "exec \"$kubectl\" exec {0}\"$worker\" -- /bin/sh -c \"$*\"\n",
      where);
}

}  // namespace gangway::jobs
