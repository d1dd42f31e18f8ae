#include "cli/arena/list_changes.h"

#include <utility>

namespace gangway::cli::arena {

std::vector<std::string> ListChanges::cells_of(const JobView& job, WallTime now) const {
  ListLayout layout = layout_;
  layout.with_progress = false;
  std::vector<std::string> cells = list_row(job, layout, now);
  cells.erase(cells.begin() + (layout.with_namespace ? 4 : 3));  // DURATION
  if (job.progress) cells.push_back(short_progress(*job.progress));
  return cells;
}

std::vector<JobView> ListChanges::take(std::vector<JobView> jobs, WallTime now) {
  std::vector<JobView> changed;
  std::map<std::string, Shown> current;
  for (JobView& job : jobs) {
    std::vector<std::string> cells = cells_of(job, now);
    const auto before = shown_.find(job.uid);
    if (before == shown_.end() || before->second.cells != cells) changed.push_back(job);
    if (before != shown_.end()) shown_.erase(before);
    const std::string uid = job.uid;
    current.emplace(uid, Shown{std::move(job), std::move(cells)});
  }
  for (auto& [uid, gone] : shown_) {
    gone.job.status = "DELETED";
    gone.job.allocated_gpus = 0;
    gone.job.estimated_end.reset();
    changed.push_back(std::move(gone.job));
  }
  shown_ = std::move(current);
  return changed;
}

}  // namespace gangway::cli::arena
