#include "agent/network/forward_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gangway::agent {
namespace {

constexpr const char* kChain = "FORWARD";

bool has_line(std::string_view text, std::string_view line) {
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    if (text.substr(0, end) == line) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

// As `iptables -S` shows it.
std::string accept_line(std::string_view direction, const std::string& bridge) {
  return fmt::format("-A {} {} {} -j ACCEPT", kChain, direction, bridge);
}

Arguments command_of(const char* verb, std::string_view direction, const std::string& bridge) {
  return {"iptables", "-w", "10", verb, kChain, std::string(direction), bridge, "-j", "ACCEPT"};
}

void run_all(sys::CommandRunner& runner, std::vector<Arguments> commands, sys::Completion<void> done) {
  if (commands.empty()) return done({});
  sys::Command command{.argv = commands.front()};
  commands.erase(commands.begin());
  runner.run(command, [&runner, command, commands, done](Result<sys::CommandResult> result) {
    auto success = sys::require_success(command, std::move(result));
    if (!success) return done(success.error());
    run_all(runner, commands, done);
  });
}

using Decide = std::vector<Arguments> (*)(std::string_view rules, const std::string& bridge);

void change_rules(const std::string& bridge, sys::CommandRunner& runner, Decide decide, sys::Completion<void> done) {
  sys::Command list{.argv = {"iptables", "-w", "10", "-S", kChain}};
  runner.run(list, [bridge, &runner, decide, done](Result<sys::CommandResult> result) {
    // No iptables, or one that this kernel does not know: then nobody drops by it.
    if (!result || !result->ok()) return done({});
    run_all(runner, decide(result->out, bridge), done);
  });
}

}  // namespace

std::vector<Arguments> missing_accepts(std::string_view rules, const std::string& bridge) {
  std::vector<Arguments> commands;
  if (!has_line(rules, fmt::format("-P {} DROP", kChain))) return commands;
  for (const char* direction : {"-i", "-o"}) {
    if (!has_line(rules, accept_line(direction, bridge))) commands.push_back(command_of("-I", direction, bridge));
  }
  return commands;
}

std::vector<Arguments> removals(std::string_view rules, const std::string& bridge) {
  std::vector<Arguments> commands;
  for (const char* direction : {"-i", "-o"}) {
    if (has_line(rules, accept_line(direction, bridge))) commands.push_back(command_of("-D", direction, bridge));
  }
  return commands;
}

void accept_forwarding(const NetworkLayout& layout, sys::CommandRunner& runner, sys::Completion<void> done) {
  change_rules(layout.bridge(), runner, missing_accepts, std::move(done));
}

void forget_forwarding(const NetworkLayout& layout, sys::CommandRunner& runner, sys::Completion<void> done) {
  change_rules(layout.bridge(), runner, removals, std::move(done));
}

}  // namespace gangway::agent
