#include "jobs/belongings.h"

#include <fmt/format.h>

#include <utility>

#include "api/owner.h"

namespace gangway::jobs {
namespace {

// Whether `present` has all that `wanted` has: somebody may have added to it.
bool has_all(const json::Value* present, const json::Value& wanted) {
  if (present == nullptr) return false;
  if (!wanted.is_object() || !present->is_object()) return json::equal(*present, wanted);
  for (const auto& [key, value] : wanted.get_object())
    if (!has_all(present->get_object().if_contains(key), value)) return false;
  return true;
}

}  // namespace

json::Value belonging_of(const controllers::Owner& owner, const char* api_version, const char* kind, std::string name) {
  const api::ObjectName& self = owner.object.header->name;
  json::Object metadata{{"name", std::move(name)},
                        {"namespace", self.ns},
                        {"labels", json::Object{{"app", self.name}}},
                        {"ownerReferences", json::Array{api::to_json(owner.reference())}}};
  return json::Object{{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}};
}

bool Belongings::has(const client::Resource& resource, const std::string& name) const {
  return static_cast<bool>(view_.get(resource, {owner_.object.header->name.ns, name}));
}

void Belongings::keep(const client::Resource& resource, json::Value wanted, std::string_view part) {
  const api::Header& self = *owner_.object.header;
  const api::Version present =
      view_.get(resource, {self.name.ns, std::string(json::string_at(wanted, {"metadata", "name"}))});
  if (!present) return create(resource, std::move(wanted));
  if (part.empty() || present.header->deleting_since || !api::is_owned_by(*present.header, self.uid)) return;
  const auto tree = json::parse(*present.json);
  const json::Value& should = wanted.as_object().at(part);
  if (!tree || has_all(json::find(*tree, {part}), should)) return;
  actions_.emplace_back(client::Patch{client::target_of(resource, present), json::Object{{part, should}}});
}

void Belongings::create(const client::Resource& resource, json::Value body) {
  are_there_ = false;
  const std::string what = fmt::format("Error creating {} {}: ", json::string_at(body, {"kind"}),
                                       json::string_at(body, {"metadata", "name"}));
  const api::Header& self = *owner_.object.header;
  client::Create action{resource, self.name.ns, std::move(body), self.uid};
  action.announce.failed = client::Emit{owner_.subject(), client::EventType::kWarning, "FailedCreate", what};
  actions_.emplace_back(std::move(action));
}

}  // namespace gangway::jobs
