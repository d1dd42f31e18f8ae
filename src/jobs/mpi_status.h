// MpiStatus: the status of an MPIJob while a look works on it, and what users are told about the changes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/action.h"
#include "jobs/job_conditions.h"
#include "jobs/mpi_job.h"

namespace gangway::jobs {

class MpiStatus {
 public:
  MpiStatus(const MpiJob& job, WallTime now);

  MpiRecord record;          // as it will be
  std::string launcher;      // Active, Succeeded or Failed; empty before it is made
  std::int64_t workers = 0;  // that are ready
  const JobConditions& conditions() const { return conditions_; }

  // Sets the condition and, when that is news, tells it. `word` is what the reason has after the kind.
  void set(std::string_view type, std::string_view message) { set(type, true, type, message); }
  void set(std::string_view type, bool status, std::string_view word, std::string_view message);

  // The write that makes it so, with what is told about it; nothing when all is as it was.
  std::vector<client::Action> write() const;

 private:
  json::Object next() const;

  const MpiJob& job_;
  WallTime now_;
  JobConditions conditions_;
  std::vector<client::Emit> events_;
};

}  // namespace gangway::jobs
