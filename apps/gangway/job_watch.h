// JobWatch: what jobs are shown from, kept current by one watch a kind for as long as a command runs.
//
// The watches live on the connection's loop; whoever made this waits on a thread of its own. A server that goes away is
// asked again until it is back: meanwhile the last state stands, and trouble() says why.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/arena/job_view.h"
#include "client/informer.h"
#include "cluster_connection.h"

namespace gangway::arena {

class JobWatch {
 public:
  // `served` is what a first read found: kinds that the cluster does not have are not watched.
  JobWatch(ClusterConnection& connection, const std::string& ns, const cli::arena::ReadObjects& served);
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  // Until everything was read once and something has changed since the last call, or until the time is up (false).
  bool wait(Duration at_most);
  cli::arena::ReadObjects objects() const;
  std::string trouble() const;

 private:
  struct Source {
    client::Resource resource;
    std::string kind;        // of jobs; empty for others
    bool must_sync = false;  // nothing is shown before it was read
    std::unique_ptr<client::Informer> informer;
    std::unique_ptr<sys::Subscription> subscription;
    std::map<api::ObjectName, json::Value> objects;  // as documents, parsed once
  };

  void add(const client::Resource& resource, std::string kind, bool must_sync);
  void start(Source& source, const std::string& ns);
  void on_change(Source& source, const client::ObjectChange& change);
  void on_progress();

  ClusterConnection& connection_;
  std::vector<std::unique_ptr<Source>> sources_;  // jobs, then pods, then pods that come back

  mutable std::mutex mutex_;  // guards the sources' objects, and what follows
  std::condition_variable changed_;
  bool is_complete_ = false;
  bool has_news_ = false;
};

}  // namespace gangway::arena
