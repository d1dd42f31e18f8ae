// RequeuedPods: pods that are preempted and come back (gangway.dev/on-preempt: Requeue), as objects. Pure.
//
//   victim has DisruptionTarget ──► record written ──► victim deleted ──► gone ──► made again ──► lives ──► record
//   deleted
//                                      └── the ticket is taken back, or the victim ends by itself ──► record deleted
//
// The record is there before the victim is told to end, so that whoever looks next knows that it was not its user who
// deleted it, and what to make again. It keeps the old place in line for as long as the pod that took it lives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/object.h"
#include "base/time.h"
#include "client/api_client.h"
#include "json/value.h"
#include "planning/snapshot.h"

namespace gangway::scheduler {

inline const client::Resource kRequeuedPods{"gangway.dev", "v1alpha1", "requeuedpods"};

struct RequeueFacts {
  std::string pod;
  std::string uid;
  std::string group;      // empty: a plain pod
  std::string owner_uid;  // of its controller, which makes it again; empty: we do
  std::string index;      // which of its owner's pods it was
  WallTime since = {};    // its place in line
  std::int64_t attempt = 2;
  json::Value pod_to_make = nullptr;  // of one without a controller
  api::ObjectName successor = {};     // who has its place now
  std::string successor_uid;          // empty: nobody yet
};
RequeueFacts read_requeue(const api::Version& record);

// Deterministic: one a victim.
std::string requeue_name(const std::string& pod, const std::string& uid);

// The controller of the pod; null when it has none.
const api::OwnerReference* controller_of(const api::Header& pod);

// Which of its owner's pods it is, where those are numbered.
std::string_view index_of(const api::Header& pod);

// Whether something would be forgotten with the pod: what to make again, or a place in line that no PodGroup keeps.
bool must_be_remembered(const api::Header& pod, bool has_pod_group);

// The record of a victim. `gang` is the victim's, `by` and `grant` say for whom and by which Allotment it goes.
json::Value requeue_of(const api::Version& pod, const planning::Gang& gang, const std::string& by,
                       const std::string& grant);

}  // namespace gangway::scheduler
