#include "controllers/namespace_controller.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "client/resource.h"
#include "controllers/conditions.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::Delete;
using client::Outcome;
using client::PatchStatus;
using client::Probe;
using client::Resource;
using client::Update;
using client::View;
using client::resources::kNamespaces;

constexpr const char* kContent = "content";
constexpr const char* kKeeper = "kubernetes";

struct Item {
  std::string name;
  std::string uid;
  bool deleting = false;
  std::vector<std::string> finalizers;
};

struct Listed {
  Resource resource;
  std::vector<Item> items;
  std::string error;
  bool is_pods() const { return resource.group.empty() && resource.plural == "pods"; }
};

struct Content {
  std::vector<Listed> resources;
  std::string discovery_error;
  bool is_empty() const { return resources.empty() && discovery_error.empty(); }
};

std::string text(const json::Value& value, std::string_view key) {
  return std::string(json::string_at(value, {key}));
}

const json::Array& list_at(const json::Value& value, std::string_view key) {
  static const json::Array kNone;
  const json::Value* list = json::find(value, {key});
  return list != nullptr && list->is_array() ? list->get_array() : kNone;
}

Content read_content(const json::Value& answer) {
  Content content;
  content.discovery_error = text(answer, "discoveryError");
  for (const json::Value& entry : list_at(answer, "resources")) {
    Listed listed{{text(entry, "group"), text(entry, "version"), text(entry, "plural")}, {}, text(entry, "error")};
    for (const json::Value& item : list_at(entry, "items")) {
      const json::Value* deleting = json::find(item, {"deleting"});
      Item one{text(item, "name"),
               text(item, "uid"),
               deleting != nullptr && deleting->is_bool() && deleting->get_bool(),
               {}};
      for (const json::Value& finalizer : list_at(item, "finalizers"))
        if (finalizer.is_string()) one.finalizers.emplace_back(finalizer.get_string());
      listed.items.push_back(std::move(one));
    }
    content.resources.push_back(std::move(listed));
  }
  return content;
}

std::vector<Condition> conditions_for(const Content& content) {
  std::vector<std::string> remaining;
  std::vector<std::string> failures;
  std::map<std::string, int> by_finalizer;
  for (const Listed& listed : content.resources) {
    const std::string name = listed.resource.plural + "." + listed.resource.group;
    if (!listed.error.empty()) failures.push_back(name + ": " + listed.error);
    if (!listed.items.empty())
      remaining.push_back(fmt::format("{} has {} resource instances", name, listed.items.size()));
    for (const Item& item : listed.items)
      for (const std::string& finalizer : item.finalizers) ++by_finalizer[finalizer];
  }
  std::sort(remaining.begin(), remaining.end());
  std::vector<std::string> held;
  for (const auto& [finalizer, count] : by_finalizer)
    held.push_back(fmt::format("{} in {} resource instances", finalizer, count));

  const auto pick = [](bool bad, const char* type, Condition when_bad, Condition when_well) {
    Condition condition = bad ? std::move(when_bad) : std::move(when_well);
    condition.type = type;
    condition.status = bad ? "True" : "False";
    return condition;
  };
  return {
      pick(!content.discovery_error.empty(), "NamespaceDeletionDiscoveryFailure",
           {{}, {}, "DiscoveryFailed", content.discovery_error},
           {{}, {}, "ResourcesDiscovered", "All resources successfully discovered"}),
      pick(false, "NamespaceDeletionGroupVersionParsingFailure", {},
           {{}, {}, "ParsedGroupVersions", "All legacy kube types successfully parsed"}),
      pick(!failures.empty(), "NamespaceDeletionContentFailure",
           {{},
            {},
            "ContentDeletionFailed",
            fmt::format("Failed to delete all resource types, {} remaining: {}", failures.size(),
                        fmt::join(failures, ", "))},
           {{}, {}, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"}),
      pick(!remaining.empty(), "NamespaceContentRemaining",
           {{}, {}, "SomeResourcesRemain", fmt::format("Some resources are remaining: {}", fmt::join(remaining, ", "))},
           {{}, {}, "ContentRemoved", "All content successfully removed"}),
      pick(!held.empty(), "NamespaceFinalizersRemaining",
           {{},
            {},
            "SomeFinalizersRemain",
            fmt::format("Some content in the namespace has finalizers remaining: {}", fmt::join(held, ", "))},
           {{}, {}, "ContentHasNoFinalizers", "All content-preserving finalizers finished"}),
  };
}

// Pods go first, so that nothing they still use is taken from under them.
void delete_content(const Content& content, const std::string& ns, Outcome& outcome) {
  const bool any_pods = std::any_of(content.resources.begin(), content.resources.end(),
                                    [](const Listed& listed) { return listed.is_pods(); });
  for (const Listed& listed : content.resources) {
    if (any_pods && !listed.is_pods()) continue;
    for (const Item& item : listed.items) {
      if (item.deleting) continue;
      outcome.allowed_now.push_back(
          Delete{{listed.resource, {ns, item.name}, item.uid, 0}, client::Propagation::kBackground});
    }
  }
}

void report(const api::Version& ns, const json::Value& tree, const Content& content, WallTime now, Outcome& outcome) {
  json::Array conditions = conditions_of(tree);
  bool changed = false;
  for (const Condition& condition : conditions_for(content)) changed |= set_condition(conditions, condition, now);
  if (!changed) return;
  json::Value body = json::Object();
  json::object_at(body, {"status"})["conditions"] = std::move(conditions);
  outcome.allowed_now.push_back(PatchStatus{client::target_of(kNamespaces, ns), std::move(body)});
}

bool is_kept(const json::Value& tree) {
  const json::Value* list = json::find(tree, {"spec", "finalizers"});
  if (list == nullptr || !list->is_array()) return false;
  const json::Array& keepers = list->get_array();
  return std::any_of(keepers.begin(), keepers.end(),
                     [](const json::Value& item) { return item.is_string() && item.get_string() == kKeeper; });
}

Update let_go(const api::Version& ns, json::Value tree) {
  json::Array rest;
  for (const json::Value& item : tree.at("spec").at("finalizers").get_array())
    if (!item.is_string() || item.get_string() != kKeeper) rest.push_back(item);
  json::object_at(tree, {"spec"})["finalizers"] = std::move(rest);
  return Update{client::target_of(kNamespaces, ns), std::move(tree), "finalize"};
}

// The longer it has lasted, the less is gained by asking soon.
Duration patience(WallTime since, WallTime now) {
  return std::clamp<Duration>((now - since) / 8, 1s, 15s);
}

}  // namespace

std::vector<client::WatchRule> NamespaceController::watches() const {
  return {{.resource = kNamespaces, .keys = client::itself(kNamespaces)}};
}

Outcome NamespaceController::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version ns = view.get(kNamespaces, key.object);
  if (!ns || !ns.header->deleting_since) return outcome;
  auto tree = json::parse(*ns.json);
  if (!tree || !is_kept(*tree)) return outcome;
  const auto* answer = view.answer(kContent);
  if (answer == nullptr || !answer->has_value()) {
    outcome.allowed_now.push_back(Probe{kContent, json::Object{{"namespace", key.object.name}}});
    return outcome;
  }

  const Content content = read_content(**answer);
  // A namespace that is about to vanish needs no report, unless it told something before or somebody else keeps it.
  const bool will_be_seen = !ns.header->finalizers.empty() || !conditions_of(*tree).empty();
  if (!content.is_empty() || will_be_seen) report(ns, *tree, content, view.now(), outcome);
  if (!content.is_empty()) {
    delete_content(content, key.object.name, outcome);
    outcome.look_again(view.now() + patience(*ns.header->deleting_since, view.now()));
  } else if (outcome.allowed_now.empty()) {
    outcome.allowed_now.push_back(let_go(ns, std::move(*tree)));
  }
  return outcome;
}

void ContentProbe::ask(const Probe& probe, sys::Completion<json::Value> done) {
  struct Inquiry {
    json::Array resources;
    std::size_t missing = 0;
    sys::Completion<json::Value> done;
    void finish() { done(json::Value(json::Object{{"resources", std::move(resources)}})); }
  };
  const auto known = catalog_.resources();
  if (!known) {
    json::Value answer = json::Object{{"discoveryError", known.error().message}};
    loop_.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
    return;
  }
  auto inquiry = std::make_shared<Inquiry>();
  inquiry->done = std::move(done);
  std::vector<Resource> wanted;
  for (const ResourceInfo& info : *known)
    if (info.namespaced && info.deletable) wanted.push_back(info.resource);
  inquiry->missing = wanted.size();
  if (wanted.empty()) return loop_.post([inquiry] { inquiry->finish(); });

  for (const Resource& resource : wanted) {
    client::ListRequest request;
    request.resource = resource;
    request.ns = text(probe.question, "namespace");
    client_.list(std::move(request), [inquiry, resource](Result<client::ListAnswer> answer) {
      json::Object entry{{"group", resource.group}, {"version", resource.version}, {"plural", resource.plural}};
      json::Array items;
      if (!answer) {
        entry["error"] = answer.error().message;
      } else {
        for (const api::Version& version : answer->items) {
          json::Array finalizers(version.header->finalizers.begin(), version.header->finalizers.end());
          items.push_back(json::Object{{"name", version.header->name.name},
                                       {"uid", version.header->uid},
                                       {"deleting", version.header->deleting_since.has_value()},
                                       {"finalizers", std::move(finalizers)}});
        }
      }
      // A resource that ceased to be served since we asked for the list has nothing left.
      const bool vanished = !answer && answer.error().reason == Reason::kNotFound;
      if (!vanished && (!answer || !items.empty())) {
        entry["items"] = std::move(items);
        inquiry->resources.push_back(std::move(entry));
      }
      if (--inquiry->missing == 0) inquiry->finish();
    });
  }
}

}  // namespace gangway::controllers
