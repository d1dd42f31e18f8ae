// The PodGroup of a job: made when its pods are, kept in step with the job, taken away when it ends. Pure.
//
// It bears the job's name and is owned by it. One of that name that somebody else made is left alone, and the job's
// pods belong to it all the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/action.h"
#include "client/view.h"
#include "controllers/owned.h"
#include "json/value.h"

namespace gangway::jobs {

// What becomes of the pods of a job when some of them are preempted.
enum class OnPreempt : std::uint8_t { kFail, kRequeue, kShrink };
OnPreempt on_preempt_of(const json::Value& job);

// Pods of a job that are made once its gang runs. They bear the PodGroup's label, and api::kLateMemberLabel with the
// name.
struct LateMember {
  std::string name;  // launcher, submitter
  std::int64_t count = 1;
  json::Value pod_template = {};
};

// What a job needs of its PodGroup.
struct GangWish {
  std::int64_t minimum = 1;  // pods that exist before the job starts, and without which it does not
  std::int64_t maximum = 0;  // above the minimum: it is elastic
  json::Value min_resources = nullptr;
  std::optional<std::int64_t> schedule_timeout_seconds = {};
  std::vector<LateMember> late = {};  // not in the minimum: room for them is granted with it

  bool is_elastic() const { return maximum > minimum; }
};

// The annotations of the job that its gang goes by, as the gang may have them: only an elastic one shrinks.
json::Object gang_annotations(const json::Value& job, bool is_elastic);

// What makes the PodGroup as it should be; nothing when it is.
std::optional<client::Action> keep_pod_group(const client::View& view, const controllers::Owner& owner,
                                             const json::Value& job, const GangWish& wish);
// What takes it away, and tells so; nothing when there is none.
std::vector<client::Action> drop_pod_group(const client::View& view, const controllers::Owner& owner);

}  // namespace gangway::jobs
