#include "sim/laws.h"

#include <algorithm>
#include <utility>

#include "sim/placement_laws.h"

namespace gangway::sim {

void Law::on_change(const api::ResourceName&, const store::Change&, const store::Root&, Verdicts&) {}
void Law::on_restart(const store::Root&, const store::Root&, const store::Root&, Verdicts&) {}
void Law::at_rest(const store::Root&, Verdicts&) {}

std::vector<ToldChange> changes_between(const store::Root& before, const store::Root& root,
                                        const std::vector<api::ResourceName>& resources) {
  std::vector<ToldChange> gone;
  std::vector<ToldChange> changes;
  for (const auto& resource : resources) {
    for (const auto& was : before.objects(resource)) {
      const auto is = root.objects(resource).get(was.header->name);
      if (!is || is.header->uid != was.header->uid)
        gone.emplace_back(resource, store::Change{store::ChangeType::kDeleted, was, was});
    }
    for (const auto& is : root.objects(resource)) {
      const auto was = before.objects(resource).get(is.header->name);
      if (was && was.header->revision == is.header->revision) continue;
      const bool is_new = !was || was.header->uid != is.header->uid;
      changes.emplace_back(resource, store::Change{is_new ? store::ChangeType::kAdded : store::ChangeType::kModified,
                                                   is, is_new ? api::Version() : was});
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.second.revision() < b.second.revision(); });
  gone.insert(gone.end(), changes.begin(), changes.end());
  return gone;
}

std::vector<std::unique_ptr<Law>> all_laws(std::function<MonoTime()> now) {
  std::vector<std::unique_ptr<Law>> laws;
  laws.push_back(revisions_grow());
  laws.push_back(nothing_acknowledged_is_lost());
  laws.push_back(no_orphans());
  laws.push_back(namespaces_are_whole());
  laws.push_back(nodes_have_room());
  laws.push_back(pods_only_go_forward());
  laws.push_back(what_waits_knows_why());
  laws.push_back(jobs_end_once());
  laws.push_back(attempts_do_not_overlap());
  laws.push_back(jobs_fail_for_a_reason());
  laws.push_back(jobs_are_as_they_say());
  laws.push_back(placement_laws(all_placement_laws(), std::move(now)));
  return laws;
}

}  // namespace gangway::sim
