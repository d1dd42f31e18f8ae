// arena whoami, version.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "arena_commands.h"
#include "client/resource.h"
#include "crypto/hash.h"
#include "version.h"

namespace gangway::arena {
namespace {

const client::Resource kSelfReviews{"authentication.k8s.io", "v1", "selfsubjectreviews"};

// Whoever may do everything, and those that Arena's own settings name.
bool is_admin(Session& session, const std::string& arena_namespace, const std::string& name,
              const json::Value& review) {
  for (const json::Value& group : json::array_at(review, {"status", "userInfo", "groups"}))
    if (group.is_string() && group.get_string() == "system:masters") return true;
  const auto settings = session.connection().object(client::resources::kConfigMaps, {arena_namespace, "arena-config"});
  if (!settings) return false;
  std::string named(json::string_at(*settings, {"data", "adminUsers"}));
  for (char& c : named)
    if (c == ',' || c == '\n') c = ' ';
  std::istringstream words(named);
  for (std::string word; words >> word;)
    if (word == name) return true;
  return false;
}

Result<void> who_am_i(const GlobalFlags& global) {
  GW_TRY(const auto session, Session::open(global));
  const json::Value question = json::Object{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
  GW_TRY(const json::Value review, session->connection().create(kSelfReviews, "", question));
  const std::string name(json::string_at(review, {"status", "userInfo", "username"}));
  const json::Value line = json::Object{{"Name", name},
                                        {"Id", crypto::md5_hex(name)},
                                        {"IsAdminUser", is_admin(*session, global.arena_namespace, name, review)}};
  fmt::print("{}\n", json::serialize(line));
  return {};
}

Result<void> show_version(bool is_short, const std::string& output) {
  utsname machine{};
  uname(&machine);
  const std::string platform = fmt::format("linux/{}", std::string_view(machine.machine));
  const json::Value all = json::Object{{"version", fmt::format("v{}", kVersion)},
                                       {"buildDate", kBuildDate},
                                       {"gitCommit", kCommit},
                                       {"compiler", "g++ " __VERSION__},
                                       {"platform", platform}};
  if (print_as(output, all)) return {};
  fmt::print("arena: v{}\n", kVersion);
  if (is_short) return {};
  fmt::print("  BuildDate: {}\n  GitCommit: {}\n  Compiler: g++ {}\n  Platform: {}\n", kBuildDate, kCommit, __VERSION__,
             platform);
  return {};
}

}  // namespace

void add_about_commands(CLI::App& app, const SharedFlags& global, int& status) {
  CLI::App* whoami = add_command(app, global, "whoami", "Show who you are to the cluster", "  arena whoami\n");
  on_run(whoami, global, status, [global] { return who_am_i(*global); });
  CLI::App* version = add_command(app, global, "version", "Show the version", "  arena version --short\n");
  auto is_short = std::make_shared<bool>(false);
  auto output = std::make_shared<std::string>();
  version->add_flag("--short,-v", *is_short, "Only the number");
  add_output_flag(version, *output, false);
  on_run(version, global, status, [is_short, output] { return show_version(*is_short, *output); });
}

}  // namespace gangway::arena
