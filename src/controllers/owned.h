// Which objects a controller manages: those that refer to it as their controller and that its selector selects.
//
//   managed by it, selected        ─► held
//   managed by it, not selected    ─► released: its reference is taken out
//   managed by nobody, selected    ─► adopted, unless it is being deleted
//   managed by somebody else       ─► left alone
//
// An owner that is being deleted adopts and releases nothing. Before an adoption the owner is read live (LiveOwner):
// the mirror of the owner may be behind, and what an owner that has gone adopts would be collected. Pure.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/object.h"
#include "api/selector.h"
#include "client/action_runner.h"
#include "client/reconciler.h"

namespace gangway::controllers {

struct Owner {
  const client::Resource& resource;
  std::string kind;
  const api::Version& object;

  // As what it refers to itself in the objects that it manages.
  api::OwnerReference reference() const;
  client::EventSubject subject() const { return client::subject_of(resource, kind, object); }
};

struct Claims {
  std::vector<api::Version> held;  // in the order of names; what is about to be adopted is not among them
  // Adoptions and releases, or the question that has to be answered first. They come before anything else: a look that
  // has some does nothing more.
  std::vector<client::Action> actions;
};

// Of the objects of `resource`. `adoptable` may refuse candidates; null takes all.
using Adoptable = std::function<bool(const api::Version&)>;
Claims claim(const client::View& view, const client::Resource& resource, const Owner& owner,
             const api::LabelSelector& selector, const Adoptable& adoptable = nullptr);

// The patch that gives the object the references that `edited`, an edited copy of it, has.
client::Patch write_owners(const client::Resource& resource, const api::Version& object, const json::Value& edited);

// A change concerns the object's controlling owner of that kind, before and after; an object that nobody manages
// concerns the owners of its namespace whose spec.selector selects it.
client::KeyMapper its_owners(const client::Resource& owner_resource, std::string kind);

// spec.selector of an object, read once a version; one that cannot be read, or is empty, selects nothing.
std::shared_ptr<const api::LabelSelector> selector_of(const client::View& view, const client::Resource& resource,
                                                      const api::Version& object);

// Answers whether an owner still exists and is not being deleted, by a live read.
class LiveOwner final : public client::ProbeRunner {
 public:
  explicit LiveOwner(client::ApiClient& client) : client_(client) {}
  void ask(const client::Probe& probe, sys::Completion<json::Value> done) override;

 private:
  client::ApiClient& client_;
};

}  // namespace gangway::controllers
