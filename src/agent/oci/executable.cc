#include "agent/oci/executable.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>

#include "agent/oci/mounts.h"
#include "base/quote.h"

namespace gangway::agent::oci {
namespace {

enum class Found : std::uint8_t { kYes, kMissing, kFolder, kNotExecutable, kUnknown };

Found judge(mode_t mode) {
  if (S_ISDIR(mode)) return Found::kFolder;
  return (mode & 0111) != 0 ? Found::kYes : Found::kNotExecutable;
}

void push_parts(std::deque<std::string>& parts, const std::string& path) {
  std::vector<std::string> own;
  for (std::size_t at = 0; at < path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    if (end > at) own.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  parts.insert(parts.begin(), own.begin(), own.end());
}

std::string joined(const std::string& base, const std::deque<std::string>& parts) {
  std::string path = base;
  for (const auto& part : parts) path += "/" + part;
  return path;
}

// Inside a mount only what is there as it stands is known: its links mean the container's paths, not the volume's.
Found look_in_mount(const std::string& source, const std::deque<std::string>& rest) {
  struct stat facts{};
  const auto found = open_in_root(source, rest.empty() ? "." : joined("", rest));
  if (!found || ::fstat(found->get(), &facts) != 0) return Found::kUnknown;
  return judge(facts.st_mode);
}

// A folder on the way to a mount is made for it where the root does not have one.
bool leads_to_mount(const std::vector<BindMount>& mounts, const std::string& path) {
  return std::any_of(mounts.begin(), mounts.end(), [&](const auto& m) { return m.target.starts_with(path + "/"); });
}

// Walks the path as the container will, link by link, with every step below the root.
Found look(const std::string& root, const std::vector<BindMount>& mounts, const std::string& path) {
  std::deque<std::string> rest;
  push_parts(rest, path);
  std::string at;  // no links in it
  for (int links = 0; !rest.empty();) {
    const std::string part = rest.front();
    rest.pop_front();
    if (part == ".") continue;
    if (part == "..") {
      at.resize(std::min(at.size(), at.rfind('/')));
      continue;
    }
    const std::string next = at + "/" + part;
    const auto mount = std::find_if(mounts.rbegin(), mounts.rend(), [&](const auto& m) { return m.target == next; });
    if (mount != mounts.rend()) return look_in_mount(mount->source, rest);
    struct stat facts{};
    if (::lstat((root + next).c_str(), &facts) != 0) {
      if (!leads_to_mount(mounts, next)) return Found::kMissing;
      at = next;
      continue;
    }
    if (!S_ISLNK(facts.st_mode)) {
      if (rest.empty()) return judge(facts.st_mode);
      if (!S_ISDIR(facts.st_mode)) return Found::kMissing;
      at = next;
      continue;
    }
    char target[4096];
    const ssize_t length = ::readlink((root + next).c_str(), target, sizeof target);
    if (length <= 0 || ++links > 40) return Found::kUnknown;
    const std::string link(target, static_cast<std::size_t>(length));
    if (link.starts_with('/')) at.clear();
    push_parts(rest, link);
  }
  return Found::kFolder;
}

std::string value_of(const Process& process, std::string_view name) {
  for (const auto& [key, value] : process.environment) {
    if (key == name) return value;
  }
  return "";
}

Error cannot_run(const std::string& program, const std::string& why) {
  return bad_request("unable to start container process: exec: " + quoted(program) + ": " + why);
}

}  // namespace

Result<void> check_executable(const std::string& root, const std::vector<BindMount>& mounts, const Process& process) {
  const std::string& program = process.args.front();
  if (program.find('/') != std::string::npos) {
    const std::string path = program.starts_with('/') ? program : process.working_directory + "/" + program;
    switch (look(root, mounts, path)) {
      case Found::kMissing:
        return cannot_run(program, "stat " + path + ": no such file or directory");
      case Found::kFolder:
        return cannot_run(program, "is a directory");
      case Found::kNotExecutable:
        return cannot_run(program, "permission denied");
      case Found::kYes:
      case Found::kUnknown:
        return {};
    }
  }
  const std::string path = value_of(process, "PATH");
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find(':', at), path.size());
    const auto found = look(root, mounts, path.substr(at, end - at) + "/" + program);
    if (found == Found::kYes || found == Found::kUnknown) return {};
    at = end + 1;
  }
  return cannot_run(program, "executable file not found in $PATH");
}

}  // namespace gangway::agent::oci
