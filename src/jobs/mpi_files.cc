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

std::string mpi_end_hook() {
  // Of /proc/PID/stat, what follows the name: state, parent, group, session, terminal. The container's own program is
  // of the session of its first process. What has a terminal is somebody's shell. Daemons of MPI ask their ranks
  // themselves; asked at the same time, a rank might end before its daemon, as if the program had come to its end.
  return "of_others() {\n"
         "  for each in /proc/[0-9]*; do\n"
         "    read -r line <$each/stat || continue\n"
         "    set -- $1 ${line##*) }\n"
         "    if [ \"$2\" = Z ] || [ \"$5\" -le 1 ] || [ \"$5\" = \"$1\" ] || [ \"$6\" != 0 ]; then continue; fi\n"
         "    echo \"$3 ${each#/proc/}\"\n"
         "  done 2>/dev/null\n"
         "}\n"
         "read -r line </proc/$$/stat\n"
         "set -- ${line##*) }\n"
         "session=$4\n"
         "of_others $session | while read -r parent pid; do\n"
         "  if [ $parent -le 1 ]; then kill -TERM $pid; fi\n"
         "done\n"
         "while [ -n \"$(of_others $session)\" ]; do sleep 0.1; done\n";
}

}  // namespace gangway::jobs
