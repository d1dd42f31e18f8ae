// LauncherJob: the batch/v1 Job of an MPIJob's launcher, as one look finds it. Pure.
//
// It says of which attempt it is. One of an earlier attempt counts for nothing: it only has to go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/view.h"
#include "controllers/owned.h"
#include "json/value.h"

namespace gangway::jobs {

// The attempt that an object is of, as it says itself.
std::int64_t attempt_of(const json::Value& object);

struct LauncherJob {
  api::Version object;  // null: there is none
  std::int64_t attempt = 0;
  bool is_active = false;    // its pod is there
  bool is_launched = false;  // its pod runs
  bool has_succeeded = false;
  bool has_failed = false;
  std::string reason;  // of its failure, as the Job says it
  std::string message;
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
};

// The Job of that name in the owner's namespace, when it is the owner's.
LauncherJob read_launcher_job(const client::View& view, const controllers::Owner& owner, const std::string& name);

// The object of that name when it is the owner's, with its tree in `tree`.
api::Version own_object(const client::View& view, const controllers::Owner& owner, const client::Resource& resource,
                        const std::string& name, json::Value& tree);

// Takes an object away with all of its pods: it is gone when they are. Nothing when it goes already.
std::optional<client::Action> remove_whole(const client::Resource& resource, const api::Version& object);

}  // namespace gangway::jobs
