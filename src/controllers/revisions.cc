#include "controllers/revisions.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/owner.h"
#include "client/resource.h"
#include "controllers/template_hash.h"

namespace gangway::controllers {
namespace {

using client::resources::kControllerRevisions;

constexpr const char* kHashLabel = "controller.kubernetes.io/hash";
constexpr std::size_t kLongestPrefix = 223;

struct RevisionFacts {
  std::int64_t number = 0;
  std::string content;
};

RevisionFacts read_revision(const api::Version& object) {
  const auto tree = json::parse(*object.json);
  if (!tree) return {};
  const json::Value* data = json::find(*tree, {"data"});
  return {json::integer_at(*tree, {"revision"}), data == nullptr ? std::string() : canonical_text(*data)};
}

client::Create create_revision(const Owner& owner, const json::Value& workload, const json::Value& content,
                               const std::string& name, const std::string& hash, std::int64_t number) {
  json::Value body = json::Object{{"apiVersion", "apps/v1"},
                                  {"kind", "ControllerRevision"},
                                  {"metadata", json::Object{{"name", name}}},
                                  {"data", content},
                                  {"revision", number}};
  json::Object& metadata = json::object_at(body, {"metadata"});
  metadata["namespace"] = owner.object.header->name.ns;
  json::Object labels = json::map_at(workload, {"spec", "template", "metadata", "labels"});
  labels[kHashLabel] = hash;
  metadata["labels"] = std::move(labels);
  const json::Object& annotations = json::map_at(workload, {"metadata", "annotations"});
  if (!annotations.empty()) metadata["annotations"] = annotations;
  metadata["ownerReferences"] = json::Array{api::to_json(owner.reference())};
  return {kControllerRevisions, owner.object.header->name.ns, std::move(body), owner.object.header->uid};
}

// As a whole: kube-apiserver takes a patch of anything for a change of the data, which may not change.
std::optional<client::Update> renumber(const Revision& revision, std::int64_t number) {
  auto body = json::parse(*revision.object.json);
  if (!body) return std::nullopt;
  json::Object& object = body->get_object();
  object["apiVersion"] = "apps/v1";
  object["kind"] = "ControllerRevision";
  object["revision"] = number;
  return client::Update{client::target_of(kControllerRevisions, revision.object), std::move(*body)};
}

}  // namespace

std::vector<Revision> read_revisions(const client::View& view, std::vector<api::Version> objects) {
  std::vector<Revision> revisions;
  for (api::Version& object : objects) {
    const auto facts = view.objects(kControllerRevisions).facts<RevisionFacts>(object, read_revision);
    revisions.push_back({std::move(object), facts->number, facts->content});
  }
  std::sort(revisions.begin(), revisions.end(), [](const Revision& a, const Revision& b) {
    return std::tie(a.number, a.object.header->created, a.name()) <
           std::tie(b.number, b.object.header->created, b.name());
  });
  return revisions;
}

json::Value revision_content(const json::Value& workload) {
  const json::Value* pod_template = json::find(workload, {"spec", "template"});
  json::Value content = json::Object();
  json::Object& kept = json::object_at(content, {"spec", "template"});
  if (pod_template != nullptr && pod_template->is_object()) kept = pod_template->get_object();
  kept["$patch"] = "replace";
  return content;
}

json::Value template_of(const Revision& revision) {
  auto tree = json::parse(*revision.object.json);
  json::Value* pod_template = tree ? json::find(*tree, {"data", "spec", "template"}) : nullptr;
  if (pod_template == nullptr || !pod_template->is_object()) return nullptr;
  pod_template->get_object().erase("$patch");
  return *pod_template;
}

CurrentRevision find_revision(const client::View& view, const Owner& owner, const json::Value& workload,
                              const std::vector<Revision>& known, std::int64_t collisions) {
  CurrentRevision found;
  const json::Value content = revision_content(workload);
  const std::string text = canonical_text(content);
  const std::int64_t next = known.empty() ? 1 : known.back().number + 1;
  for (std::size_t i = known.size(); i > 0 && !found.index; --i)
    if (known[i - 1].content == text) found.index = i - 1;
  if (found.index && *found.index + 1 == known.size()) return found;
  if (found.index) {
    // Going back: the old one is the newest again.
    if (auto update = renumber(known[*found.index], next)) found.actions.push_back(std::move(*update));
    return found;
  }
  const std::string hash = short_hash(text, collisions);
  const std::string name = owner.object.header->name.name.substr(0, kLongestPrefix) + "-" + hash;
  if (view.objects(kControllerRevisions).contains({owner.object.header->name.ns, name})) {
    found.collides = true;
  } else {
    found.actions.push_back(create_revision(owner, workload, content, name, hash, next));
  }
  return found;
}

std::vector<client::Action> truncate_history(const std::vector<Revision>& known, const std::set<std::string>& in_use,
                                             std::size_t limit) {
  std::vector<const Revision*> unused;
  for (const Revision& revision : known)
    if (!in_use.contains(revision.name()) && !revision.object.header->deleting_since) unused.push_back(&revision);
  std::vector<client::Action> actions;
  for (std::size_t i = 0; i + limit < unused.size(); ++i)
    actions.push_back(client::Delete{client::target_of(kControllerRevisions, unused[i]->object)});
  return actions;
}

}  // namespace gangway::controllers
