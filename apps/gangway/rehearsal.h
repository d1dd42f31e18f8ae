// Rehearsal: what the server would make of manifests, put into a view of the cluster as if it were there. Nothing is
// stored: the server is asked in dry run. Blocking, as its connection is.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/object.h"
#include "cli/cluster_reader.h"
#include "cli/manifests.h"
#include "cluster_connection.h"

namespace gangway {

class Rehearsal {
 public:
  Rehearsal(ClusterConnection& connection, cli::ListedObjects& objects) : connection_(connection), objects_(objects) {}

  Result<void> add(const cli::Manifest& manifest);

  // Those that came with the manifests.
  const std::set<api::ObjectName>& pods() const { return pods_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Result<void> add_made_by(const json::Value& workload, const std::string& ns, const std::string& what);
  Result<void> keep(const client::Resource& resource, const json::Value& object);
  Result<void> keep_pod(json::Value pod);

  ClusterConnection& connection_;
  cli::ListedObjects& objects_;
  std::set<api::ObjectName> pods_;
  std::vector<std::string> notes_;
};

}  // namespace gangway
