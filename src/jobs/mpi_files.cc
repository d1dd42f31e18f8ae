#include "jobs/mpi_files.h"

#include <fmt/format.h>

namespace gangway::jobs {

std::string mpi_hostfile(const MpiJob& job) {
  std::string text;
  for (std::int64_t index = 0; index < job.workers.count; ++index)
    text += fmt::format("{} slots={}\n", job.worker_name(index), job.workers.slots);
  return text;
}

std::string mpi_discover_hosts(const MpiJob& job, const std::vector<std::string>& running) {
  std::string text = "#!/bin/sh\n";
  for (const std::string& worker : running) text += fmt::format("echo {}:{}\n", worker, job.workers.slots);
  return text;
}

std::string mpi_remote_start() {
  // Containers of our nodes have a program for it. On others an image brings kubectl, or has it put where the delivery
  // container of other operators puts it.
  return "#!/bin/sh\n"
         "worker=$1\n"
         "shift\n"
         "if [ -x /dev/gangway-exec ]; then\n"
         "  exec /dev/gangway-exec \"$worker\" -- /bin/sh -c \"$*\"\n"
         "fi\n"
         "if [ -x /opt/kube/kubectl ]; then\n"
         "  kubectl=/opt/kube/kubectl\n"
         "else\n"
         "  kubectl=kubectl\n"
         "fi\n"
         "exec \"$kubectl\" exec \"$worker\" -- /bin/sh -c \"$*\"\n";
}

}  // namespace gangway::jobs
