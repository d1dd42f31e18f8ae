// JobStatus: the status of a job while a look works on it, and what users are told about the changes. Pure.
//
// Kinds derive from it what they count (KubeflowStatus, MpiStatus).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/action.h"
#include "controllers/owned.h"
#include "jobs/job_conditions.h"
#include "jobs/job_record.h"

namespace gangway::jobs {

class JobStatus {
 public:
  // `tree` is the job; both must outlive this.
  JobStatus(controllers::Owner owner, const json::Value& tree, JobRecord present, WallTime now);

  JobRecord record;  // as it will be
  const JobConditions& conditions() const { return conditions_; }

  // Sets the condition and, when that is news, tells it. `word` is what the reason has after the kind.
  void set(std::string_view type, std::string_view message) { set(type, true, type, message); }
  void set(std::string_view type, bool status, std::string_view word, std::string_view message);
  // With a reason that is not the kind's own.
  void set_because(std::string_view type, std::string_view reason, std::string_view message);
  void tell(client::EventType type, std::string_view reason, std::string message);

 protected:
  // The write that makes it so, with what is told about it; nothing when all is as it was. `next` is the status with
  // what the kind counts; `mark`, when it is not empty, gets the time of the write.
  std::vector<client::Action> write(json::Object next, std::string_view mark) const;
  const json::Object& present() const { return json::map_at(tree_, {"status"}); }
  WallTime now() const { return now_; }

 private:
  void tell_of(std::string_view type, std::string_view reason, std::string_view message);

  controllers::Owner owner_;
  const json::Value& tree_;
  WallTime now_;
  JobConditions conditions_;
  std::vector<client::Emit> events_;
};

}  // namespace gangway::jobs
