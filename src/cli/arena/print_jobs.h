// Jobs as text and as JSON, in Arena's layouts. Pure.
//
// `get` has the layout of a header and one line an instance; what Arena never said (how far a job is, why it waits, who
// preempted it) stands below the table, so that what scripts read above it stays as it was.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "cli/arena/job_view.h"
#include "json/value.h"

namespace gangway::cli::arena {

std::string get_text(const JobView& job, WallTime now);
// With a line an instance: chief, GPUs, node.
std::string get_wide_text(const JobView& job, WallTime now);
// `get -g`: which instance has how many devices; empty when the job asks for none or has succeeded.
std::string gpus_text(const JobView& job);

struct ListLayout {
  bool with_namespace = false;
  bool is_wide = false;        // PRIORITY and REASON
  bool with_progress = false;  // a bar, and how long it may take
};
std::vector<std::string> list_header(const ListLayout& layout);
std::vector<std::string> list_row(const JobView& job, const ListLayout& layout, WallTime now);
std::string list_text(const std::vector<JobView>& jobs, const ListLayout& layout, WallTime now);

// How far they are stands behind Arena's columns: when one of them tells, or in a wide layout.
std::string top_jobs_text(std::vector<JobView> jobs, const ListLayout& layout, WallTime now);
std::string top_job_text(const JobView& job, WallTime now);

json::Value to_json(const JobView& job, WallTime now);
json::Value to_json(const std::vector<JobView>& jobs, WallTime now);

}  // namespace gangway::cli::arena
