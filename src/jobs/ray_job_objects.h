// What the objects of a RayJob look like: its cluster, what hands its program over, and the Service that leads to the
// head of whichever cluster it has. Pure; nothing here decides when they are made.
#pragma once

#include <string>
#include <string_view>

#include "jobs/ray_job.h"
#include "json/value.h"

namespace gangway::jobs {

// With the job's labels and annotations, and the attempt.
json::Value ray_job_cluster(const RayJob& job);

// A batch/v1 Job that hands the program over, unless that has been done, and then follows its output.
json::Value ray_submitter_job(const RayJob& job);
json::Value ray_submitter_template(const RayJob& job);
// What the gang calls that pod, which it does not wait for.
inline constexpr std::string_view kRaySubmitterMember = "submitter";
inline constexpr std::string_view kRaySubmitterContainer = "ray-job-submitter";
std::string ray_submit_script(const RayJob& job);

// What Ray's dashboard is sent, where nobody else hands the program over.
json::Value ray_submission_body(const RayJob& job);

// Its name stays while clusters come and go.
json::Value ray_job_service(const RayJob& job);
json::Object ray_job_service_selector(const RayJob& job);

// Where the dashboard of the present cluster is, without a scheme.
std::string ray_dashboard_url(const RayJob& job, const json::Value& cluster_spec);

}  // namespace gangway::jobs
