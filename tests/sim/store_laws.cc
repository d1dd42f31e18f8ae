#include <fmt/format.h>

#include <map>
#include <set>

#include "sim/laws.h"

namespace gangway::sim {
namespace {

std::string named(const api::ResourceName& resource, const api::ObjectName& name) {
  return resource + " " + (name.ns.empty() ? "" : name.ns + "/") + name.name;
}

class RevisionsGrow final : public Law {
 public:
  void on_change(const api::ResourceName& resource, const store::Change& change, const store::Root& root,
                 Verdicts& verdicts) override {
    const auto revision = change.revision();
    const auto where = named(resource, change.now.header->name);
    // Several objects of one transaction share a revision.
    if (revision < last_) verdicts.broken(fmt::format("{} was changed at {} after {}", where, revision, last_));
    last_ = std::max(last_, revision);
    if (root.revision() < revision) {
      verdicts.broken(fmt::format("{} was told at {} before it could be read at {}", where, revision, root.revision()));
    }
    if (change.before && change.before.header->revision >= revision)
      verdicts.broken(fmt::format("{} went from {} to {}", where, change.before.header->revision, revision));
  }
  void on_restart(const store::Root& before, const store::Root&, const store::Root& root, Verdicts& verdicts) override {
    if (root.revision() < before.revision())
      verdicts.broken(fmt::format("revisions went back from {} to {}", before.revision(), root.revision()));
  }

 private:
  api::Revision last_ = 0;
};

// Kinds whose writes are acknowledged before they are durable.
bool is_relaxed(const api::ResourceName& resource) {
  return resource == "leases.coordination.k8s.io" || resource == "events" || resource == "events.events.k8s.io";
}

class NothingAcknowledgedIsLost final : public Law {
 public:
  void on_restart(const store::Root& before, const store::Root& head, const store::Root& root,
                  Verdicts& verdicts) override {
    published_ = before.revision();
    accepted_ = head.revision();
    std::set<api::ResourceName> resources;
    for (const auto* each : {&before, &head, &root})
      for (auto& resource : each->resources()) resources.insert(std::move(resource));
    for (const auto& resource : resources) {
      if (is_relaxed(resource)) continue;
      for (const auto& was : before.objects(resource)) {
        check(resource, was.header->name, was, head.objects(resource).get(was.header->name),
              root.objects(resource).get(was.header->name), verdicts);
      }
      for (const auto& is : root.objects(resource)) {
        if (before.objects(resource).get(is.header->name)) continue;
        check(resource, is.header->name, {}, head.objects(resource).get(is.header->name), is, verdicts);
      }
    }
  }

 private:
  static bool same(const api::Version& a, const api::Version& b) {
    return (!a && !b) || (a && b && a.header->revision == b.header->revision && *a.json == *b.json);
  }
  void check(const api::ResourceName& resource, const api::ObjectName& name, const api::Version& was,
             const api::Version& accepted, const api::Version& now, Verdicts& verdicts) const {
    if (same(now, was) || same(now, accepted)) return;
    // Between the two there may have been more states, none of which anybody was told of.
    if (now ? now.header->revision > published_ && now.header->revision <= accepted_ : !same(was, accepted)) return;
    const auto at = [](const api::Version& version) { return version ? version.header->revision : 0; };
    verdicts.broken(fmt::format("{} was at {}, or {} on its way, and is at {} after a restart", named(resource, name),
                                at(was), at(accepted), at(now)));
  }

  api::Revision published_ = 0;  // at the last kill
  api::Revision accepted_ = 0;
};

}  // namespace

std::unique_ptr<Law> revisions_grow() {
  return std::make_unique<RevisionsGrow>();
}
std::unique_ptr<Law> nothing_acknowledged_is_lost() {
  return std::make_unique<NothingAcknowledgedIsLost>();
}

}  // namespace gangway::sim
