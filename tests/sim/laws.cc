#include "sim/laws.h"

#include <algorithm>
#include <utility>

#include "sim/placement_laws.h"

namespace gangway::sim {

void Law::on_change(const api::ResourceName&, const store::Change&, const store::Root&, Verdicts&) {}
void Law::on_restart(const store::Root&, const store::Root&, const store::Root&, Verdicts&) {}
void Law::at_rest(const store::Root&, Verdicts&) {}

std::vector<std::unique_ptr<Law>> all_laws(std::function<MonoTime()> now) {
  std::vector<std::unique_ptr<Law>> laws;
  laws.push_back(revisions_grow());
  laws.push_back(nothing_acknowledged_is_lost());
  laws.push_back(no_orphans());
  laws.push_back(namespaces_are_whole());
  laws.push_back(nodes_have_room());
  laws.push_back(pods_only_go_forward());
  laws.push_back(what_waits_knows_why());
  laws.push_back(placement_laws(all_placement_laws(), std::move(now)));
  return laws;
}

}  // namespace gangway::sim
