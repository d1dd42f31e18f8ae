#include "apiserver/rest/history.h"

#include <set>

namespace gangway::apiserver {

Result<store::ObjectMap> objects_as_of(const store::Store& store, const store::Root& newest,
                                       const api::ResourceName& resource, api::Revision revision) {
  GW_TRY(auto cursor, store.watch(resource, revision));
  store::ObjectMap::Editor past(newest.objects(resource));
  std::set<api::ObjectName> taken_back;
  while (true) {
    GW_TRY(const auto* change, cursor->next());
    if (!change || change->revision() > newest.revision()) return past.map();
    // The first change since then knows what was before all of them.
    const auto& name = change->now.header->name;
    if (!taken_back.insert(name).second) continue;
    if (change->before) {
      past.put(change->before);
    } else {
      past.erase(name);
    }
  }
}

}  // namespace gangway::apiserver
