// What is new in a list of jobs since it was last shown, for a list that goes on line by line. Pure.
//
// Time that passes is no change: neither how long a job has run nor how long it may take yet.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/arena/job_view.h"
#include "cli/arena/print_jobs.h"

namespace gangway::cli::arena {

class ListChanges {
 public:
  explicit ListChanges(ListLayout layout) : layout_(layout) {}

  // Jobs that are new or look different, in the order in which they came; then those that are gone, as DELETED.
  std::vector<JobView> take(std::vector<JobView> jobs, WallTime now);

 private:
  struct Shown {
    JobView job;
    std::vector<std::string> cells;
  };
  std::vector<std::string> cells_of(const JobView& job, WallTime now) const;

  ListLayout layout_;
  std::map<std::string, Shown> shown_;  // by uid
};

}  // namespace gangway::cli::arena
