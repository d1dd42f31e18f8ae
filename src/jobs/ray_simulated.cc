#include "jobs/ray_simulated.h"

namespace gangway::jobs {
namespace {

std::string_view annotation(const RayJob& job, std::string_view key) {
  return json::string_at(job.cluster_spec(), {"headGroupSpec", "template", "metadata", "annotations", key});
}

std::string_view status_of(const RaySubmitter& submitter) {
  if (submitter.has_succeeded) return "SUCCEEDED";
  if (submitter.has_failed) return "FAILED";
  return submitter.is_running ? "RUNNING" : "PENDING";
}

}  // namespace

RayProgram simulated_program(const RayJob& job, const RayJobState& state, WallTime now) {
  RayProgram program{.kind = RayProgram::Kind::kKnown, .status = "RUNNING"};
  program.started = job.record.program_started;
  if (job.submission == RaySubmission::kJob) {
    program.status = status_of(state.submitter);
    if (program.status != "PENDING" && !program.started) program.started = now;
    if (state.submitter.has_ended()) program.ended = state.submitter.ended.value_or(now);
    return program;
  }
  if (!program.started) program.started = now;
  const auto duration = parse_duration(annotation(job, "gangway.dev/simulated-duration"));
  if (!duration || *program.started + *duration > now) return program;
  const std::string_view code = annotation(job, "gangway.dev/simulated-exit-code");
  program.status = code.empty() || code == "0" ? "SUCCEEDED" : "FAILED";
  program.ended = *program.started + *duration;
  return program;
}

}  // namespace gangway::jobs
