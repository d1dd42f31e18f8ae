#include "apiserver/nodes/usage_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "apiserver/nodes/node_address.h"
#include "apiserver/status.h"

namespace gangway::apiserver {
namespace {

// Agents measure over ten seconds.
constexpr std::string_view kWindow = "10s";
constexpr std::string_view kVersion = "metrics.k8s.io/v1beta1";
constexpr std::size_t kAskedAtOnce = 32;
constexpr auto kTimeout = std::chrono::seconds(5);

using Summaries = std::map<std::string, json::Value>;  // by node

const std::int64_t* number_at(const json::Value& value, std::initializer_list<std::string_view> path) {
  const auto* found = json::find(value, path);
  return found ? found->if_int64() : nullptr;
}

// {"cpu":"1234n","memory":"56Ki"}, or null before there is a rate.
json::Value usage_in(const json::Value& stats) {
  const auto* cpu = number_at(stats, {"cpu", "usageNanoCores"});
  const auto* memory = number_at(stats, {"memory", "workingSetBytes"});
  if (!cpu || !memory) return nullptr;
  return json::Object{{"cpu", fmt::format("{}n", *cpu)}, {"memory", fmt::format("{}Ki", *memory / 1024)}};
}

json::Object metadata_of(const api::Header& object, WallTime now) {
  json::Object metadata{{"name", object.name.name}};
  if (!object.name.ns.empty()) metadata["namespace"] = object.name.ns;
  metadata["creationTimestamp"] = to_rfc3339(now);
  json::Object labels;
  for (const auto& [key, value] : object.labels) labels[key] = value;
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  return metadata;
}

const json::Value* find_pod(const json::Value& summary, const api::Header& object) {
  const auto* pods = json::find(summary, {"pods"});
  if (!pods || !pods->is_array()) return nullptr;
  const auto& all = pods->get_array();
  // By uid: a pod of the same name may have been there before.
  const auto* found = std::find_if(all.begin(), all.end(), [&](const json::Value& pod) {
    return json::string_at(pod, {"podRef", "uid"}) == object.uid;
  });
  return found != all.end() ? found : nullptr;
}

std::string node_of_pod(const api::Header& pod) {
  for (const auto& [field, value] : pod.fields)
    if (field == "spec.nodeName") return value;
  return {};
}

// Asks many agents for their summaries, some at a time. Keeps itself until all have answered or failed.
class Survey final : public std::enable_shared_from_this<Survey> {
 public:
  Survey(client::NodeDialer* dialer, sys::EventLoop& loop, std::function<void(Summaries)> done)
      : dialer_(dialer), loop_(loop), done_(std::move(done)) {}

  void start(std::deque<client::NodeAddress> agents) {
    waiting_ = std::move(agents);
    pump();
  }

 private:
  void pump() {
    while (under_way_ < kAskedAtOnce && !waiting_.empty()) {
      auto agent = std::move(waiting_.front());
      waiting_.pop_front();
      auto dialed = dialer_->dial(agent, loop_);
      if (!dialed) continue;
      ++under_way_;
      const std::shared_ptr<client::Transport> transport = std::move(*dialed);
      client::HttpClientRequest request;
      request.target = "/stats/summary";
      request.timeout = kTimeout;
      transport->send(std::move(request), [self = shared_from_this(), node = agent.node,
                                           transport](Result<client::HttpClientResponse> answer) {
        // By post: this is a callback of the transport itself.
        self->loop_.post([transport] {});
        self->take(node, std::move(answer));
      });
    }
    if (under_way_ == 0 && done_) std::exchange(done_, nullptr)(std::move(summaries_));
  }
  void take(const std::string& node, Result<client::HttpClientResponse> answer) {
    --under_way_;
    if (answer && answer->status == 200) {
      auto summary = json::parse(answer->body, {.max_bytes = 64 << 20, .max_depth = 64});
      if (summary) summaries_[node] = std::move(*summary);
    }
    pump();
  }

  client::NodeDialer* dialer_;
  sys::EventLoop& loop_;
  std::function<void(Summaries)> done_;
  std::deque<client::NodeAddress> waiting_;
  std::size_t under_way_ = 0;
  Summaries summaries_;
};

std::deque<client::NodeAddress> agents_of(const std::set<std::string>& names, const store::Root& root) {
  std::deque<client::NodeAddress> agents;
  for (const auto& name : names) {
    auto version = root.get({"nodes", {"", name}});
    auto node = version.json ? json::parse(*version.json) : Result<json::Value>(internal_error("gone"));
    auto address = node ? agent_address(*node) : Result<client::NodeAddress>(node.error());
    if (address) agents.push_back(std::move(*address));
  }
  return agents;
}

Result<Answer> answer_with(const Call& call, const std::vector<api::Version>& objects, const Summaries& summaries) {
  const bool of_pods = call.kind->plural == "pods";
  json::Array items;
  for (const auto& object : objects) {
    const auto& header = *object.header;
    const auto summary = summaries.find(of_pods ? node_of_pod(header) : header.name.name);
    if (summary == summaries.end()) continue;
    auto metrics =
        of_pods ? pod_metrics(header, summary->second, call.now) : node_metrics(header, summary->second, call.now);
    if (!metrics.is_null()) items.push_back(std::move(metrics));
  }
  if (call.info.verb == "get") {
    if (items.empty()) return not_found(*call.kind, call.info.name);
    auto& object = items.front().as_object();
    object["kind"] = call.kind->kind;
    object["apiVersion"] = kVersion;
    return json_answer(object);
  }
  return json_answer(json::Object{{"kind", call.kind->kind + "List"},
                                  {"apiVersion", kVersion},
                                  {"metadata", json::Object()},
                                  {"items", std::move(items)}});
}

}  // namespace

json::Value node_metrics(const api::Header& object, const json::Value& summary, WallTime now) {
  const auto* node = json::find(summary, {"node"});
  auto usage = node ? usage_in(*node) : json::Value();
  if (usage.is_null()) return nullptr;
  return json::Object{{"metadata", metadata_of(object, now)},
                      {"timestamp", json::string_at(*node, {"cpu", "time"})},
                      {"window", kWindow},
                      {"usage", std::move(usage)}};
}

json::Value pod_metrics(const api::Header& object, const json::Value& summary, WallTime now) {
  const auto* pod = find_pod(summary, object);
  const auto* stats = pod ? json::find(*pod, {"containers"}) : nullptr;
  if (!stats || !stats->is_array()) return nullptr;
  json::Array containers;
  for (const auto& container : stats->get_array()) {
    auto usage = usage_in(container);
    // Half a pod would be a wrong number.
    if (usage.is_null()) return nullptr;
    containers.push_back(json::Object{{"name", json::string_at(container, {"name"})}, {"usage", std::move(usage)}});
  }
  if (containers.empty()) return nullptr;
  return json::Object{{"metadata", metadata_of(object, now)},
                      {"timestamp", json::string_at(*pod, {"cpu", "time"})},
                      {"window", kWindow},
                      {"containers", std::move(containers)}};
}

void UsageMetrics::serve(const CallPtr& call, const Done& done) const {
  const auto& verb = call->info.verb;
  if ((verb != "get" && verb != "list") || !call->info.subresource.empty()) return done(method_not_allowed());
  auto root = resources_.store().root();
  // The objects that are measured are selected as such.
  auto measured = std::make_shared<Call>(*call);
  auto kind = call->registry->resolve("", "v1", call->kind->plural);
  measured->kind = kind->kind;
  measured->version = kind->version;
  auto objects = std::make_shared<std::vector<api::Version>>();
  if (verb == "get") {
    auto version = root->get(measured->object_key());
    if (!version.json) return done(not_found(*call->kind, call->info.name));
    objects->push_back(std::move(version));
  } else {
    auto selected = Resources::select(*measured, *root);
    if (!selected) return done(selected.error());
    *objects = std::move(*selected);
  }
  std::set<std::string> names;
  for (const auto& object : *objects)
    names.insert(call->kind->plural == "pods" ? node_of_pod(*object.header) : object.header->name.name);
  auto agents = nodes_ ? agents_of(names, *root) : std::deque<client::NodeAddress>();
  std::make_shared<Survey>(nodes_, call->here, [call, objects, done](const Summaries& summaries) {
    done(answer_with(*call, *objects, summaries));
  })->start(std::move(agents));
}

}  // namespace gangway::apiserver
