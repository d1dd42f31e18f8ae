#include "agent/oci/process.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gangway::agent::oci {
namespace {

constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct PasswdEntry {
  std::string_view name;
  uid_t uid;
  gid_t gid;
  std::string_view home;
};

std::optional<PasswdEntry> find_user(std::string_view passwd, std::string_view name, std::optional<uid_t> uid) {
  for (const auto line : split(passwd, '\n')) {
    const auto fields = split(line, ':');  // name:password:uid:gid:comment:home:shell
    if (fields.size() < 6) continue;
    const auto own = number(fields[2]);
    const auto group = number(fields[3]);
    if (!own || !group) continue;
    if (uid ? *own == *uid : fields[0] == name) return PasswdEntry{fields[0], *own, *group, fields[5]};
  }
  return std::nullopt;
}

std::optional<gid_t> find_group(std::string_view group_file, std::string_view name) {
  for (const auto line : split(group_file, '\n')) {
    const auto fields = split(line, ':');  // name:password:gid:member,member
    if (fields.size() >= 3 && fields[0] == name) return number(fields[2]);
  }
  return std::nullopt;
}

void add_group(std::vector<gid_t>& groups, gid_t gid) {
  if (std::find(groups.begin(), groups.end(), gid) == groups.end()) groups.push_back(gid);
}

void add_memberships(std::vector<gid_t>& groups, std::string_view group_file, std::string_view user) {
  if (user.empty()) return;
  for (const auto line : split(group_file, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 4) continue;
    const auto members = split(fields[3], ',');
    const auto gid = number(fields[2]);
    if (gid && std::find(members.begin(), members.end(), user) != members.end()) add_group(groups, *gid);
  }
}

void set(std::vector<std::pair<std::string, std::string>>& environment, const std::string& name,
         const std::string& value) {
  const auto known =
      std::find_if(environment.begin(), environment.end(), [&](const auto& entry) { return entry.first == name; });
  if (known == environment.end()) {
    environment.emplace_back(name, value);
  } else {
    known->second = value;
  }
}

Error against_own_rules(std::string message) {
  Error error;
  error.reason = Reason::kForbidden;
  error.message = std::move(message);
  return error;
}

}  // namespace

Result<std::vector<std::string>> arguments_of(const ContainerSpec& spec, const ImageDefaults& image) {
  std::vector<std::string> result = spec.command.empty() ? image.entrypoint : spec.command;
  const auto& rest = !spec.args.empty() || !spec.command.empty() ? spec.args : image.command;
  result.insert(result.end(), rest.begin(), rest.end());
  if (result.empty() || result.front().empty()) return bad_request("no command specified");
  return result;
}

std::vector<std::pair<std::string, std::string>> environment_of(const ContainerSpec& spec, const ImageDefaults& image,
                                                                const std::string& hostname) {
  std::vector<std::pair<std::string, std::string>> result;
  set(result, "PATH", std::string(kPath));
  set(result, "HOSTNAME", hostname);
  if (spec.terminal) set(result, "TERM", "xterm");
  for (const auto& [name, value] : image.environment) set(result, name, value);
  for (const auto& [name, value] : spec.environment) set(result, name, value);
  return result;
}

Result<User> user_of(const Security& security, const std::string& image_user, const UserFiles& files) {
  const auto colon = image_user.find(':');
  const std::string name = image_user.substr(0, colon);
  const std::string group = colon == std::string::npos ? "" : image_user.substr(colon + 1);
  std::optional<uid_t> uid = security.user;
  if (!uid && !name.empty()) uid = number(name);
  if (!uid && name.empty()) uid = 0;
  if (!uid && security.must_not_be_root) {
    return against_own_rules("container has runAsNonRoot and image has non-numeric user (" + name +
                             "), cannot verify user is non-root");
  }
  const auto entry = find_user(files.passwd, name, uid);
  if (!uid && !entry) return bad_request("unable to find user " + name + ": no matching entries in passwd file");

  User user{.uid = entry ? entry->uid : *uid, .gid = entry ? entry->gid : 0};
  if (entry) user.home = entry->home;
  if (!security.user && !group.empty()) {
    const auto gid = number(group) ? number(group) : find_group(files.group, group);
    if (!gid) return bad_request("unable to find group " + group + ": no matching entries in group file");
    user.gid = *gid;
  }
  if (security.group) user.gid = *security.group;
  if (user.uid == 0 && security.must_not_be_root) {
    return against_own_rules("container has runAsNonRoot and image will run as root");
  }
  add_group(user.groups, user.gid);
  if (entry) add_memberships(user.groups, files.group, entry->name);
  for (const gid_t gid : security.supplemental_groups) add_group(user.groups, gid);
  return user;
}

Result<Process> process_of(const ContainerSpec& spec, const ImageDefaults& image, const std::string& hostname,
                           const UserFiles& files) {
  Process process;
  GW_TRY(process.args, arguments_of(spec, image));
  GW_TRY(process.user, user_of(spec.security, image.user, files));
  process.environment = environment_of(spec, image, hostname);
  const auto has_home = std::any_of(process.environment.begin(), process.environment.end(),
                                    [](const auto& entry) { return entry.first == "HOME"; });
  if (!has_home) process.environment.emplace_back("HOME", process.user.home.empty() ? "/" : process.user.home);
  process.working_directory = !spec.working_directory.empty() ? spec.working_directory : image.working_directory;
  if (process.working_directory.empty()) process.working_directory = "/";
  return process;
}

}  // namespace gangway::agent::oci
