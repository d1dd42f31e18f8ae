#include <fmt/format.h>

#include <set>

#include "sim/laws.h"

namespace gangway::sim {
namespace {

class NoOrphans final : public Law {
 public:
  void at_rest(const store::Root& root, Verdicts& verdicts) override {
    std::set<std::string> uids;
    for (const auto& resource : root.resources())
      for (const auto& version : root.objects(resource)) uids.insert(version.header->uid);
    for (const auto& resource : root.resources()) {
      for (const auto& version : root.objects(resource)) {
        const auto& header = *version.header;
        const auto where = resource + " " + header.name.ns + "/" + header.name.name;
        if (header.deleting_since) verdicts.broken(where + " is still being deleted");
        const bool owned = !header.owners.empty();
        const bool has_owner = std::any_of(header.owners.begin(), header.owners.end(),
                                           [&](const auto& owner) { return uids.contains(owner.uid); });
        if (owned && !has_owner) verdicts.broken(where + " outlives its owner " + header.owners.front().name);
      }
    }
  }
};

class NamespacesAreWhole final : public Law {
 public:
  void at_rest(const store::Root& root, Verdicts& verdicts) override {
    std::set<std::string> namespaces;
    for (const auto& ns : root.objects("namespaces")) namespaces.insert(ns.header->name.name);
    for (const auto& resource : root.resources()) {
      for (const auto& version : root.objects(resource)) {
        const auto& name = version.header->name;
        if (!name.ns.empty() && !namespaces.contains(name.ns))
          verdicts.broken(fmt::format("{} {}/{} is in a namespace that does not exist", resource, name.ns, name.name));
      }
    }
    for (const auto& ns : namespaces) {
      if (!root.get({"serviceaccounts", {ns, "default"}})) verdicts.broken("namespace " + ns + " has no account");
      if (!root.get({"configmaps", {ns, "kube-root-ca.crt"}})) verdicts.broken("namespace " + ns + " has no authority");
    }
  }
};

}  // namespace

std::unique_ptr<Law> no_orphans() {
  return std::make_unique<NoOrphans>();
}
std::unique_ptr<Law> namespaces_are_whole() {
  return std::make_unique<NamespacesAreWhole>();
}

}  // namespace gangway::sim
