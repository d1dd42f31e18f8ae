#include "agent/network/bridge_network.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "agent/network/bridge_setup.h"
#include "agent/network/cni.h"
#include "agent/network/machine_facts.h"
#include "agent/network/netns.h"
#include "agent/network/pod_files.h"
#include "agent/network/records.h"
#include "base/names.h"
#include "sys/files.h"
#include "sys/log.h"

namespace gangway::agent {
namespace {

std::string text_of(const std::string& path) {
  auto text = sys::read_file(path);
  return text ? *text : std::string();
}

}  // namespace

struct BridgeNetwork::Recovery {
  std::set<std::string> pods;
  sys::Completion<std::map<std::string, PodAddresses>> done;
  std::size_t under_way = 0;
};

struct BridgeNetwork::Attaching {
  SandboxSpec spec;
  std::string netns;
  std::vector<std::string> addresses;
  sys::Completion<PodAddresses> done;
};

BridgeNetwork::BridgeNetwork(sys::EventLoop& loop, sys::CommandRunner& runner, BridgeNetworkOptions options)
    : loop_(loop),
      runner_(runner),
      options_(std::move(options)),
      layout_(options_.layout),
      rules_(loop, runner),
      names_(loop, runner, layout_, options_.resolv_conf) {}

// ── recover ──

void BridgeNetwork::recover(std::set<std::string> pods, sys::Completion<std::map<std::string, PodAddresses>> done) {
  auto recovery = std::make_shared<Recovery>(Recovery{std::move(pods), std::move(done), 0});
  if (auto made = make_run_directories(layout_); !made)
    return loop_.post([recovery, error = made.error()] { recovery->done(error); });
  mtu_ = uplink_mtu();
  // Pods of a bridge that is gone have lost their cables; they must be attached anew.
  if (interface_exists(layout_.bridge())) attached_ = read_records(layout_);
  std::erase_if(attached_, [&](const auto& entry) {
    const auto& netns = entry.second.given.netns_path;
    return !recovery->pods.contains(entry.first) || (!netns.empty() && !is_namespace(netns));
  });
  ensure_bridge(layout_, runner_, [this, recovery, life = std::weak_ptr(life_)](Result<void> result) {
    if (life.expired()) return;
    if (!result) return recovery->done(result.error());
    take_stale(recovery);
  });
}

void BridgeNetwork::take_stale(const std::shared_ptr<Recovery>& recovery) {
  std::set<std::string> stale = recorded_pods(layout_);
  for (const auto& uid : pod_namespaces(layout_)) stale.insert(uid);
  for (const auto& uid : pods_with_addresses(layout_)) stale.insert(uid);
  for (const auto& [uid, attachment] : attached_) stale.erase(uid);
  recovery->under_way = stale.size();
  if (stale.empty()) return finish_recovery(recovery);
  for (const auto& uid : stale) {
    take_away(uid, [this, recovery, uid](Result<void> result) {
      if (!result)
        sys::log_warning("what a pod left in the network stays", {{"uid", uid}, {"error", result.error().message}});
      if (--recovery->under_way == 0) finish_recovery(recovery);
    });
  }
}

void BridgeNetwork::finish_recovery(const std::shared_ptr<Recovery>& recovery) {
  apply_rules([this, recovery, life = std::weak_ptr(life_)](Result<void> result) {
    if (life.expired()) return;
    if (!result) return recovery->done(result.error());
    // Without names pods still run, and the name server goes on trying: that is no reason not to begin.
    names_.start([this, recovery, still = std::weak_ptr(life_)](const Result<void>&) {
      if (still.expired()) return;
      std::map<std::string, PodAddresses> found;
      for (const auto& [uid, attachment] : attached_) found.emplace(uid, attachment.given);
      recovery->done(std::move(found));
    });
  });
}

// ── turns ──

void BridgeNetwork::in_turn(const std::string& uid, Operation operation) {
  auto& turns = turns_[uid];
  turns.push_back(std::move(operation));
  if (turns.size() == 1) next_of(uid);
}

void BridgeNetwork::next_of(const std::string& uid) {
  // By post: an operation may finish inside its own call.
  loop_.post([this, uid, life = std::weak_ptr(life_)] {
    if (life.expired()) return;
    auto operation = turns_[uid].front();
    operation([this, uid] {
      auto& turns = turns_[uid];
      turns.pop_front();
      if (turns.empty())
        turns_.erase(uid);
      else
        next_of(uid);
    });
  });
}

// ── attach ──

void BridgeNetwork::attach(SandboxSpec spec, sys::Completion<PodAddresses> done) {
  const auto uid = spec.pod.uid;
  in_turn(uid, [this, spec = std::move(spec), done = std::move(done)](const sys::Task& finished) {
    attach_now(spec, [done, finished](Result<PodAddresses> result) {
      finished();
      done(std::move(result));
    });
  });
}

void BridgeNetwork::attach_now(SandboxSpec spec, sys::Completion<PodAddresses> done) {
  // It will be part of file names.
  if (!names::check_dns1123_subdomain(spec.pod.uid).empty()) return done(bad_request("a pod's uid is not one"));
  auto present = attached_.find(spec.pod.uid);
  if (present != attached_.end()) return done(present->second.given);
  auto job = std::make_shared<Attaching>();
  job->spec = std::move(spec);
  job->done = std::move(done);
  if (job->spec.host_network) {
    if (!options_.host_address.empty()) job->addresses = {options_.host_address};
    return keep(job);
  }
  job->netns = layout_.netns_path(job->spec.pod.uid);
  make_namespace(job);
}

void BridgeNetwork::make_namespace(const std::shared_ptr<Attaching>& job) {
  if (auto made = make_namespace_file(job->netns); !made) return give_up(job, made.error());
  run(make_namespace_command(job->netns), [this, job](Result<std::string> result) {
    if (!result) return give_up(job, result.error());
    add_interface(job);
  });
}

void BridgeNetwork::add_interface(const std::shared_ptr<Attaching>& job) {
  auto command = cni_command(layout_, mtu_, options_.plugins, CniVerb::kAdd, job->spec.pod.uid, job->netns);
  runner_.run(std::move(command), [this, job, life = std::weak_ptr(life_)](Result<sys::CommandResult> result) {
    if (life.expired()) return;
    if (!result) return give_up(job, result.error());
    if (!result->ok()) return give_up(job, internal_error(cni_failure(*result)));
    auto addresses = cni_addresses(result->out);
    if (!addresses) return give_up(job, addresses.error());
    job->addresses = std::move(*addresses);
    set_routes(job);
  });
}

void BridgeNetwork::set_routes(const std::shared_ptr<Attaching>& job) {
  run(in_namespace(job->netns, {"ip", "-batch", "-"}, pod_interface_batch(layout_)),
      [this, job](Result<std::string> result) {
        if (!result) return give_up(job, result.error());
        keep(job);
      });
}

void BridgeNetwork::keep(const std::shared_ptr<Attaching>& job) {
  const auto& spec = job->spec;
  Attachment attachment;
  attachment.given.addresses = job->addresses;
  attachment.given.netns_path = job->netns;
  attachment.given.resolv_conf =
      resolv_conf(spec, parse_resolv_conf(text_of(options_.resolv_conf)), layout_.gateway_text());
  attachment.given.hosts = hosts_file(spec, job->addresses, spec.host_network ? text_of(options_.hosts) : "");
  if (!spec.host_network) attachment.ports = host_ports_of(spec, parse_v4(job->addresses.front()).value_or(0));
  if (auto written = write_record(layout_, spec.pod.uid, attachment); !written) return give_up(job, written.error());
  const bool has_ports = !attachment.ports.empty();
  auto given = attachment.given;
  attached_[spec.pod.uid] = std::move(attachment);
  if (!has_ports) return job->done(std::move(given));
  apply_rules([this, job, given = std::move(given), life = std::weak_ptr(life_)](Result<void> result) {
    if (life.expired()) return;
    if (!result) return give_up(job, result.error());
    job->done(given);
  });
}

void BridgeNetwork::give_up(const std::shared_ptr<Attaching>& job, Error error) {
  take_away(job->spec.pod.uid, [job, error = std::move(error)](const Result<void>& result) {
    if (!result) sys::log_warning("a pod's half-made network stays", {{"error", result.error().message}});
    job->done(error);
  });
}

// ── detach ──

void BridgeNetwork::detach(const std::string& pod_uid, sys::Completion<void> done) {
  in_turn(pod_uid, [this, pod_uid, done = std::move(done)](const sys::Task& finished) {
    take_away(pod_uid, [done, finished](Result<void> result) {
      finished();
      done(std::move(result));
    });
  });
}

void BridgeNetwork::take_away(const std::string& uid, sys::Completion<void> done) {
  auto netns = layout_.netns_path(uid);
  auto finish = [this, uid, netns, done = std::move(done)](Result<void> released) {
    if (auto removed = remove_namespace(netns); !removed && released) released = std::move(removed);
    // An address that could not be given back is found by its record at the next recovery.
    if (!released) return done(std::move(released));
    remove_record(layout_, uid);
    auto node = attached_.extract(uid);
    if (node.empty() || node.mapped().ports.empty()) return done({});
    apply_rules(done);
  };
  const bool has_namespace = is_namespace(netns);
  if (!has_namespace && !pods_with_addresses(layout_).contains(uid)) return finish({});
  auto command = cni_command(layout_, mtu_, options_.plugins, CniVerb::kDel, uid, has_namespace ? netns : "");
  runner_.run(std::move(command), [finish, life = std::weak_ptr(life_)](Result<sys::CommandResult> result) {
    if (life.expired()) return;
    if (result && result->ok()) return finish({});
    finish(result ? internal_error(cni_failure(*result)) : result.error());
  });
}

void BridgeNetwork::apply_rules(sys::Completion<void> done) {
  std::vector<HostPort> ports;
  for (const auto& [uid, attachment] : attached_)
    ports.insert(ports.end(), attachment.ports.begin(), attachment.ports.end());
  rules_.apply(pod_rules(layout_, ports), std::move(done));
}

void BridgeNetwork::run(sys::Command command, sys::Completion<std::string> done) {
  runner_.run(command,
              [command, done = std::move(done), life = std::weak_ptr(life_)](Result<sys::CommandResult> result) {
                if (!life.expired()) done(sys::require_success(command, std::move(result)));
              });
}

}  // namespace gangway::agent
