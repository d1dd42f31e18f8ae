// Accountant: keeps UsageRecords true, and shows what a gang has had in its Allotment. See accounting.h.
//
// Two kinds of keys: a UsageRecord, and a gang with an Allotment. It writes when pods are told to end, are gone, or a
// gang has started or finished; never while they just run. It remembers pods that went without having been told to (a
// forced deletion) until their record shows them: what vanishes so while no Accountant runs is not counted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/reconciler.h"
#include "scheduler/accounting.h"

namespace gangway::scheduler {

class Accountant final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

 private:
  void on_pod(const client::ObjectChange& change, const client::View& view, const client::KeySink& sink) const;
  client::Outcome keep_record(const api::ObjectKey& key, const client::View& view) const;
  client::Outcome show_in_allotment(const api::ObjectKey& key, const client::View& view) const;

  // By the record's name, then by uid. Looks and the changes before them come on one loop.
  mutable std::map<api::ObjectName, std::map<std::string, Gone>> gone_;
};

}  // namespace gangway::scheduler
